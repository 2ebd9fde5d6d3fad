// The static HDF5 is made for executables: it takes the addresses of stdout and stderr to be fixed, which they are not
// for a module that is loaded later. Linked with --wrap, it finds these instead.
#include <cstdio>

#undef stdout
#undef stderr

extern "C" {

extern std::FILE* __real_stdout;
extern std::FILE* __real_stderr;
std::FILE* __wrap_stdout = __real_stdout;
std::FILE* __wrap_stderr = __real_stderr;
}
