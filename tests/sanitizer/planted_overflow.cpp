// Adds past the largest int. UndefinedBehaviorSanitizer must end the program.

#include <cstdio>
#include <limits>

int main(int argc, char**) {
    volatile int largest = std::numeric_limits<int>::max();
    const int sum = largest + argc;
    std::printf("%d\n", sum);
    return 0;
}
