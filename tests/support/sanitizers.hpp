/// Sizes of tests where sanitizers are built in, with which everything takes ten times as long.
#pragma once

namespace scrm::testing {

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SCRM_TESTS_ARE_SANITIZED 1
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SCRM_TESTS_ARE_SANITIZED 1
#endif

/// `all`, or under sanitizers `few`: of rows, or of many alike cases.
template <class T>
T few_under_sanitizers([[maybe_unused]] T few, [[maybe_unused]] T all) {
#ifdef SCRM_TESTS_ARE_SANITIZED
  return few;
#else
  return all;
#endif
}

}  // namespace scrm::testing
