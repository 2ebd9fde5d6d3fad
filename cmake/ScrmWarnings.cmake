# The warnings every target of ours is built with.
function(scrm_set_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wold-style-cast
                         -Woverloaded-virtual -Wnull-dereference $<$<BOOL:${SCRM_WARNINGS_AS_ERRORS}>:-Werror>)
endfunction()
