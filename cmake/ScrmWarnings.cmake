# The warnings every target of ours is built with. Two that g++ 12 raises inside its own <vector> and <string> are out:
# -Wnull-dereference, and -Wrestrict (which -Wall brings).
function(scrm_set_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wold-style-cast
                         -Woverloaded-virtual $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
                         $<$<BOOL:${SCRM_WARNINGS_AS_ERRORS}>:-Werror>)
endfunction()
