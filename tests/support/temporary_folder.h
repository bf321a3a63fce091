// tests/support/temporary_folder.h: a folder of a test's own, removed with it.
#pragma once

#include <filesystem>
#include <string>

#include "host/base/text.h"

namespace lakeflow::host::testing {

class temporary_folder {
  public:
    temporary_folder() : path_(std::filesystem::temp_directory_path() / ("lakeflow-test-" + random_id())) {
        std::filesystem::create_directories(path_);
    }
    ~temporary_folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    temporary_folder(const temporary_folder&) = delete;
    temporary_folder& operator=(const temporary_folder&) = delete;

    const std::filesystem::path& path() const noexcept { return path_; }
    std::string string() const { return path_.string(); }

  private:
    std::filesystem::path path_;
};

}  // namespace lakeflow::host::testing
