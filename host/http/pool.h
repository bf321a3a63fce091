// host/http/pool.h: connections by origin: which are idle, how many are open, who waits for one. On the io thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "host/http/connection.h"

namespace lakeflow::host {

// Someone who asked for a connection. Called once for each acquire, perhaps from within it: with an idle connection, or with
// null, which means that it may open one itself and owes a `give_back` for it.
class connection_waiter {
  public:
    virtual void on_connection(std::shared_ptr<connection> idle) = 0;
    virtual bool wants_fresh() const = 0;

  protected:
    ~connection_waiter() = default;
};

class connection_pool {
  public:
    connection_pool(int most_per_origin, std::int64_t idle_us) : most_(most_per_origin), idle_us_(idle_us) {}

    void acquire(const std::string& key, connection_waiter& waiter);
    void forget(const std::string& key, connection_waiter& waiter);  // waits no longer

    // Ends what acquire began: with the connection if it can be used again, with null if it is closed.
    void give_back(const std::string& key, std::shared_ptr<connection> reusable);

    // A connection whose reader does not read keeps its place without using it, so others may go beyond the cap: else a reader
    // that waits for another request's answer could wait for itself.
    void stalled(const std::string& key, bool is);

    void close_all();

  private:
    struct origin {
        std::vector<std::shared_ptr<connection>> idle;  // the last one used is at the end
        std::deque<connection_waiter*> waiting;
        int busy = 0;
        int stalled = 0;
    };
    void pump(const std::string& key);
    std::shared_ptr<connection> take_idle(origin& o);

    const int most_;
    const std::int64_t idle_us_;
    std::map<std::string, origin> origins_;
};

}  // namespace lakeflow::host
