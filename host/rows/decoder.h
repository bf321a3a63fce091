// host/rows/decoder.h: JSON, JSON lines or CSV, as the bytes arrive, to Arrow columns in one pass. This is rows/1 (lakeflow/rows.h, which
// has the spec and the type rules) for the host's own use; abi.h makes the C table of it. One thread at a time on one decoder.
// All errors are thrown as `failure`.
//
// Beyond rows.h: duplicate keys are looked for in every object that is decoded into columns, maps or JSON text, and in the objects
// on the way to the rows; not below members that nobody asks for. In CSV an empty field without quotes is null, with quotes it is
// the empty text; a column that the header lacks is an error; numbers and true/false (in any case) are read from their text, lists,
// structs and maps from JSON text. "records" and "captures" belong to documents: with jsonl and csv they are refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "host/arrow/arrow.h"
#include "host/base/context.h"

namespace lakeflow::host {

class exchange;

// When rows leave the columns before the caller takes them. Other values are for tests.
struct decoder_limits {
    std::size_t look_from = std::size_t{128} << 20;      // bytes fed from which each row looks at the sizes
    std::size_t widest_column = std::size_t{512} << 20;  // int32 offsets reach to four times this
};

class decoder {
  public:
    // `context` may be null: messages then name no table, and nothing cancels. Throws schema.unsupported, config.rows_spec (retry
    // class invalid).
    decoder(const lf_context* context, const ArrowSchema& schema, std::string_view spec, decoder_limits limits = {});
    ~decoder();
    decoder(decoder&&) noexcept;
    decoder& operator=(decoder&&) noexcept;

    // The next bytes of a document. A failure drops the document and its rows; the decoder is then ready for another.
    void feed(std::string_view bytes);
    // The document is complete: its rows become available.
    void finish();
    // Drops the document that is being fed, and its rows.
    void abandon() noexcept;

    // Reads the body of an answer as one document, after its head. A body that breaks off, is not what it should be or has a
    // content type that cannot be right is asked for again, as long as the exchange has attempts. A value that does not fit is
    // not asked for again.
    void decode(exchange& answer);

    // Moves the rows of all finished documents out; false if there are none. Beyond about half a GiB of text in one column they
    // come in several batches.
    bool take(arrow_array& out);

    // JSON text of a captured value of the last finished document; nothing if the document did not have it. `index` is in range.
    std::optional<std::string> capture(std::size_t index) const;
    std::size_t captures() const noexcept;

    // Counts of the last finished document, as rows.h says.
    std::string stats() const;

  private:
    struct impl;
    std::unique_ptr<impl> impl_;
};

}  // namespace lakeflow::host
