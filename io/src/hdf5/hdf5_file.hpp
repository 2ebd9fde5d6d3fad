/// Hdf5File: an HDF5 file to read: what it says of itself, and its bytes by address.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "array/array_facts.hpp"
#include "file/descriptor.hpp"
#include "file/file_identity.hpp"
#include "hdf5/buffer_pool.hpp"
#include "hdf5/hdf5_service.hpp"
#include "hdf5/metadata_cache.hpp"

namespace scrm {

struct StoredChunk {
  std::uint64_t skipped_filters = 0;  ///< bit i: filter i was not applied
  BufferPool::Buffer bytes;
  std::size_t length = 0;
};

/// HDF5 is asked in this process about files whose seal is whole, unless the seal has the answer, and in another one
/// about all others; the answers are checked either way. Not for several threads at once; copies are independent of
/// each other.
class Hdf5File {
 public:
  /// Opens a file; errors tell a missing one from one that is foreign, damaged or cut short.
  Hdf5File(const std::string& path, std::shared_ptr<BufferPool> pool);
  /// A file that was written here and that HDF5 still has open; all answers go to the cache too. Both must outlive it.
  /// Needs the hdf5::Lock as long as it is used.
  Hdf5File(const std::string& path, OpenHdf5& open, MetadataCache& cache);

  const std::shared_ptr<const std::string>& path() const noexcept { return path_; }
  const std::shared_ptr<BufferPool>& pool() const noexcept { return pool_; }  ///< for its chunks
  std::int64_t bytes() const noexcept { return identity_.bytes; }

  /// To read by address. Opens the file again after release(); an Error when it is no longer the one that was opened.
  const std::shared_ptr<const Descriptor>& descriptor() const;
  /// Closes the descriptor until it is needed again.
  void release() noexcept { descriptor_.reset(); }
  /// Throws when the file was written to since it was opened.
  void require_unchanged() const;

  /// What is stored under a name.
  ObjectType object_type(const std::string& name) const;
  /// Names in a group, in order.
  std::vector<std::string> members(const std::string& group) const;

  AttributeValue attribute(const std::string& object, const std::string& name) const;
  std::vector<std::string> attribute_names(const std::string& object) const;
  /// Empty when there is no such attribute of this object ("/" for the root); throws when it is not one text (of fixed
  /// or variable length) or not one whole number (of any width).
  std::optional<std::string> text_attribute(const std::string& object, const std::string& name) const;
  std::optional<std::int64_t> integer_attribute(const std::string& object, const std::string& name) const;

  /// Of a dataset of numbers, asked for once and checked. Throws when it is missing, holds no numbers, or is neither a
  /// list nor a table.
  std::shared_ptr<const ArrayFacts> array(const std::string& name) const;
  /// Throws when two of the datasets that array() was asked for share bytes of the file.
  void require_disjoint_arrays() const;
  /// Forgets what array() has kept.
  void forget_arrays() noexcept { arrays_.clear(); }

  /// What only HDF5 can read: numbers of rows [first, first + rows) as the facts' element.
  std::string read_rows(const ArrayFacts& facts, std::int64_t first, std::int64_t rows) const;
  /// Chunks [first, first + count) as the file holds them.
  std::vector<StoredChunk> read_chunks(const ArrayFacts& facts, std::int64_t first, std::int64_t count) const;

  /// Of any dataset, whole.
  std::vector<std::int64_t> shape(const std::string& name) const;
  std::vector<std::string> texts(const std::string& name) const;
  std::vector<double> numbers(const std::string& name) const;
  std::vector<std::int64_t> integers(const std::string& name) const;
  std::vector<std::vector<double>> lists(const std::string& name) const;

 private:
  std::string ask(Hdf5Query query, const std::string& object, const std::string& name = "", std::int64_t first = 0,
                  std::int64_t count = 0) const;
  template <class T>
  T ask_for(Hdf5Query query, const std::string& object) const;
  Place attribute_place(const std::string& object, const std::string& name) const;

  std::shared_ptr<const std::string> path_;
  std::shared_ptr<BufferPool> pool_;
  FileIdentity identity_;
  std::int64_t end_ = 0;  ///< of what the file holds, as it says itself
  bool sealed_ = false;
  std::shared_ptr<const MetadataCache> known_;  ///< of a sealed file
  OpenHdf5* open_ = nullptr;                    ///< while it is written
  MetadataCache* recorded_ = nullptr;
  mutable std::shared_ptr<const Descriptor> descriptor_;
  mutable std::map<std::string, std::shared_ptr<const ArrayFacts>> arrays_;
};

}  // namespace scrm
