# SCRM_SANITIZE=address,undefined or thread, applied to every target of ours. Fuzzing leaves the kernels out: they parse
# nothing, and instrumented they would take most of the build.
function(scrm_set_sanitizers target)
  if(SCRM_SANITIZE MATCHES "fuzzer" AND target STREQUAL "scrm_kernels")
    return()
  endif()
  if(SCRM_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${SCRM_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
    target_link_options(${target} PUBLIC -fsanitize=${SCRM_SANITIZE})
  endif()
endfunction()
