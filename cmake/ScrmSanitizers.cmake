# SCRM_SANITIZE=address,undefined or thread, applied to every target of ours.
function(scrm_set_sanitizers target)
  if(SCRM_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${SCRM_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
    target_link_options(${target} PUBLIC -fsanitize=${SCRM_SANITIZE})
  endif()
endfunction()
