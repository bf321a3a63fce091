// Reads memory that it has given back. AddressSanitizer must end the program.

#include <cstdio>
#include <memory>

int main(int argc, char**) {
    auto owner = std::make_unique<int>(argc);
    const volatile int* stale = owner.get();
    owner.reset();
    std::printf("%d\n", *stale);
    return 0;
}
