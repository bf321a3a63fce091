/* The library that needs_elsewhere.c cannot find at run time. */
__attribute__((visibility("default"))) int elsewhere(void) { return 1; }
