/* A shared library that is no plugin: it exports something else. */
__attribute__((visibility("default"))) int answer(void) { return 42; }
