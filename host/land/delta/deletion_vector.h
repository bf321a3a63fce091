// host/land/delta/deletion_vector.h: reading deletion vectors: which rows of a data file are gone. Source: the Delta transaction log
// protocol, "Deletion Vectors" and "Deletion Vector Format", and the RoaringBitmap format. Used by one thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "host/duck/duck.h"
#include "host/land/delta/actions.h"
#include "host/land/store.h"

namespace lakeflow::host::delta {

// The file of a vector of storage "u" in the store: "ab/deletion_vector_<uuid>.bin". Throws destination.corrupt.
std::string file_of(const deletion_vector& vector);

// The numbers of the rows that are gone, ascending. Throws destination.corrupt naming `file`, whose vector it is, for one that is not
// whole, and destination.unsupported_table for one that lies where this host does not read.
std::vector<std::int64_t> read_vector(store& files, const deletion_vector& vector, const std::string& file);

// The same of the bytes of a bitmap, without what stands around them in a file.
std::vector<std::int64_t> parse_bitmap(std::string_view bytes);
// Z85, as the log spells bytes. Throws failure for text that is none.
std::string decode_z85(std::string_view text);

// The rows that vectors take out, as the table lf_gone (f, rn) of a connection; a vector is read when its file is first asked for.
class gone_rows {
  public:
    gone_rows(duck::connection& connection, store& files) : connection_(connection), files_(files) {}

    // The number `f` of a file whose vector is in the table now; the file must have one.
    std::int64_t number(const add_file& file);

  private:
    duck::connection& connection_;
    store& files_;
    std::map<std::string, std::int64_t> numbers_;  // by path and vector
};

}  // namespace lakeflow::host::delta
