# One rule of floating-point arithmetic for every target of ours: fused operations are written out (MulAdd in kernels), the
# compiler never chooses them by itself. Two uses of one formula then cannot differ in their last bit, and a policy
# evaluated on its own logs has weights of exactly one.
function(scrm_set_arithmetic target)
  target_compile_options(${target} PRIVATE -ffp-contract=off)
endfunction()
