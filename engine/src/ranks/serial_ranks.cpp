#include "scrm/engine/ranks/ranks.hpp"
#include "scrm/engine/schedule/threads.hpp"
#include "scrm/io/file/error.hpp"

namespace scrm {
namespace {

[[noreturn]] void refuse() {
  throw Error(ErrorKind::run, "a process by itself has no other ranks to talk to");
}

}  // namespace

void SerialRanks::send(int, const Bytes&) {
  refuse();
}

Bytes SerialRanks::receive(int) {
  refuse();
}

std::pair<int, Bytes> SerialRanks::receive_any() {
  refuse();
}

int SerialRanks::cores() const noexcept {
  return resolve_threads(0);
}

void SerialRanks::abort(const std::string& why) {
  throw Error(ErrorKind::run, why);
}

}  // namespace scrm
