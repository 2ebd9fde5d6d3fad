# SCRM_SANITIZE=address,undefined or thread, applied to every target of ours. Fuzzing leaves the kernels out: they parse
# nothing, and instrumented they would take most of the build. Whether each pointer is null, aligned and of the right type is
# asked in the folders that handle raw memory alone: in Eigen's expressions these questions take a third of the build, and
# the address sanitizer sees what a wrong answer leads to.
function(scrm_set_sanitizers target)
  if(SCRM_SANITIZE MATCHES "fuzzer" AND target STREQUAL "scrm_kernels")
    return()
  endif()
  if(SCRM_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${SCRM_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
    if(SCRM_SANITIZE MATCHES "undefined" AND NOT target MATCHES "^scrm_(kernels|io)$")
      target_compile_options(${target} PRIVATE -fno-sanitize=null,alignment,vptr,object-size)
    endif()
    target_link_options(${target} PUBLIC -fsanitize=${SCRM_SANITIZE})
  endif()
endfunction()
