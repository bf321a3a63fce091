// host/http/parser.h: Beast's parser over bytes that stay where they were received: body pieces are views, nothing is copied.
// Heavy: included by connection.cpp alone. On the io thread only.
#pragma once

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "host/http/answer.h"

namespace lakeflow::host {

class answer_parser : public boost::beast::http::basic_parser<false> {
    using error_code = boost::beast::error_code;
    using text = boost::beast::string_view;

  public:
    static constexpr std::uint32_t largest_head = 48 * 1024;

    explicit answer_parser(bool bodyless) {
        header_limit(largest_head);
        body_limit(boost::none);
        eager(true);
        skip(bodyless);
    }

    // Parses bytes of `owner`; returns how many were used up. `ec` is set for what is not HTTP; wanting more is no error.
    std::size_t consume(const std::shared_ptr<const block>& owner, const char* data, std::size_t size, error_code& ec) {
        owner_ = &owner;
        const std::size_t used = put(boost::asio::const_buffer(data, size), ec);
        owner_ = nullptr;
        if (ec == boost::beast::http::error::need_more) ec = {};
        return used;
    }

    answer_head head;
    std::vector<slice> pieces;  // since they were taken last
    std::size_t piece_bytes = 0;

  private:
    void on_request_impl(boost::beast::http::verb, text, text, int, error_code&) override {}
    void on_response_impl(int code, text reason, int, error_code&) override {
        head.status = code;
        head.reason.assign(reason.data(), reason.size());
    }
    void on_field_impl(boost::beast::http::field, text name, text value, error_code&) override {
        // Trailer fields come after the head was handed on, and count for nothing.
        if (!is_header_done()) head.headers.emplace_back(std::string(name), std::string(value));
    }
    void on_header_impl(error_code&) override {}
    void on_body_init_impl(boost::optional<std::uint64_t> const&, error_code&) override {}
    std::size_t on_body_impl(text bytes, error_code&) override { return take(bytes); }
    void on_chunk_header_impl(std::uint64_t, text, error_code&) override {}
    std::size_t on_chunk_body_impl(std::uint64_t, text bytes, error_code&) override { return take(bytes); }
    void on_finish_impl(error_code&) override {}

    std::size_t take(text bytes) {
        if (!bytes.empty()) {
            pieces.push_back({*owner_, std::string_view(bytes.data(), bytes.size())});
            piece_bytes += bytes.size();
        }
        return bytes.size();
    }

    const std::shared_ptr<const block>* owner_ = nullptr;
};

}  // namespace lakeflow::host
