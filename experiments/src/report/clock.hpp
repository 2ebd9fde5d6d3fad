/// When and where something ran, and how long it took.
#pragma once

#include <chrono>
#include <string>

namespace scrm {

/// Seconds since it was made.
class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(); }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// "2023-07-23T09:00:00Z".
std::string time_now();

std::string host_name();

}  // namespace scrm
