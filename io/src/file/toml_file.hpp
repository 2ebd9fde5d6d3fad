/// TomlFile: a small TOML file on its way to what it says; every error names the file, the line and the key.
#pragma once

#include <toml++/toml.h>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace scrm {

class TomlFile {
 public:
  using Names = std::vector<std::string>;

  /// `kind` is what such a file is called in messages, such as "policy"; one that takes more than `memory` bytes to
  /// read is an Error of kind memory.
  TomlFile(const std::string& path, std::string kind, std::size_t memory)
      : path_(path), kind_(std::move(kind)), memory_(memory) {}

  toml::table parse() const;
  [[noreturn]] void fail(const toml::node* node, std::string_view key, const std::string& what) const;
  /// `things` is what has these keys, such as "policies".
  void check_keys(const toml::table& table, const Names& known, std::string_view things) const;
  /// Position of the key's word among the known ones; nothing when the key is absent.
  std::optional<std::size_t> word(const toml::table& table, std::string_view key, const Names& known) const;
  /// A list of names, none twice; empty when the key is absent.
  Names names(const toml::table& table, std::string_view key) const;

 private:
  const std::string& path_;
  std::string kind_;
  std::size_t memory_;
};

}  // namespace scrm
