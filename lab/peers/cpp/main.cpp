// oneTBB for the workloads `creation` and `fork-join`, called as the laboratory calls itself for one run:
// `brigade-lab-cpp once WORKLOAD --option value …`. It prints the values of the metrics in their order, or a reason on stderr.
//
// The thread that waits is one of the threads that compute, as oneTBB has it. Every task is counted, in a place of its own.

#include <sys/prctl.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <oneapi/tbb/combinable.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_invoke.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

using Clock = std::chrono::steady_clock;
using Values = std::vector<double>;

// The options by name. The laboratory has checked what they say.
std::map<std::string, std::string> options;

// What has gone on so far, in steps of any kind.
std::atomic<uint64_t> progress{0};

// Ends the run without a number.
[[noreturn]] void fail(const std::string &reason) {
    std::cerr << "brigade-lab: " << reason << std::endl;
    std::_Exit(1);
}

uint64_t number(const std::string &name, uint64_t otherwise) {
    auto found = options.find(name);
    return found == options.end() ? otherwise : std::strtoull(found->second.c_str(), nullptr, 10);
}

// Whether this fault is to be made.
bool injected(const std::string &fault) {
    return options["inject"].rfind(fault + ":", 0) == 0;
}

// Gives the run up when nothing has gone on for all of the patience.
void watch() {
    auto patience = std::chrono::seconds(number("patience", 20));
    std::thread([patience] {
        for (uint64_t seen = ~uint64_t{0}; seen != progress; std::this_thread::sleep_for(patience)) seen = progress;
        fail("nothing ran any more");
    }).detach();
}

// How often the task with this number runs, which a fault may change.
int copies(uint64_t index) {
    if (index > 0) return 1;
    return injected("lost") ? 0 : injected("repeated") ? 2 : 1;
}

// What a task does before it is counted: nothing, unless it is to be slow.
void slow() {
    auto end = Clock::now() + std::chrono::microseconds(50);
    while (Clock::now() < end) {}
}

// Wall time and CPU time.
struct Meter {
    Clock::time_point wall = Clock::now();
    double used = cpu();

    static double cpu() {
        rusage read;
        getrusage(RUSAGE_SELF, &read);
        auto seconds = [](timeval time) { return double(time.tv_sec) + double(time.tv_usec) / 1e6; };
        return seconds(read.ru_utime) + seconds(read.ru_stime);
    }

    double walled() const { return std::chrono::duration<double>(Clock::now() - wall).count(); }
    double spent() const { return cpu() - used; }
};

// By nearest rank.
double median(Values values) {
    std::sort(values.begin(), values.end());
    return values[std::max<size_t>((values.size() + 1) / 2, 1) - 1];
}

// Creates all tasks and waits for all of them, again and again.
Values creation(tbb::task_arena &arena) {
    uint64_t tasks = number("tasks", 1), repetitions = number("repetitions", 1), warmups = number("warmups", 2);
    std::unique_ptr<std::atomic<uint32_t>[]> ran(new std::atomic<uint32_t>[tasks]());
    bool is_slow = injected("slow"), is_repeated = injected("repeated");
    auto create = [&](bool first) {
        auto begun = Clock::now();
        arena.execute([&] {
            tbb::task_group all;
            for (uint64_t index = 0; index < tasks; index++) {
                for (int times = first ? copies(index) : 1; times > 0; times--) {
                    all.run([&, index] {
                        if (is_slow) slow();
                        // One that is repeated may run at the same time as the other.
                        if (is_repeated) ran[index].fetch_add(1, std::memory_order_relaxed);
                        else ran[index].store(ran[index].load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
                    });
                }
            }
            all.wait();
        });
        progress++;
        return std::chrono::duration<double>(Clock::now() - begun).count() / double(tasks);
    };
    for (uint64_t i = 0; i < warmups; i++) create(i == 0);
    Values times;
    Meter meter;
    for (uint64_t i = 0; i < repetitions; i++) times.push_back(create(false));
    double wall = meter.walled(), spent = meter.spent();
    uint64_t all = tasks * (warmups + repetitions), total = 0;
    for (uint64_t index = 0; index < tasks; index++) total += ran[index];
    if (total != all) {
        auto word = total < all ? "lost " : "repeated ";
        fail(word + std::to_string(total < all ? all - total : total - all) + " of " + std::to_string(all) + " tasks");
    }
    for (uint64_t index = 0; index < tasks; index++) {
        if (ran[index] != warmups + repetitions) fail("ran " + std::to_string(all) + " tasks, but lost some and repeated others");
    }
    double none = std::nan("");
    return {median(times), none, none, none, none, spent / wall};
}

// A Fibonacci number, without a cut-off.
uint64_t fib(uint64_t index) {
    if (index < 2) return index;
    uint64_t one, other;
    tbb::parallel_invoke([&] { one = fib(index - 1); }, [&] { other = fib(index - 2); });
    return one + other;
}

uint64_t fib_alone(uint64_t index) {
    uint64_t one = 0, next = 1;
    for (; index > 0; index--) next += std::exchange(one, next);
    return one;
}

uint64_t skynet(uint64_t from, uint64_t leaves);

// The sum of the leaves of some of the ten children, by halves.
uint64_t children(uint64_t from, uint64_t leaves, uint64_t count) {
    if (count == 1) return skynet(from, leaves);
    uint64_t half = count / 2, one, other;
    tbb::parallel_invoke([&] { one = children(from, leaves, half); },
                         [&] { other = children(from + half * leaves, leaves, count - half); });
    return one + other;
}

// The sum of the numbers of these leaves, of a tree with ten children a node.
uint64_t skynet(uint64_t from, uint64_t leaves) {
    return leaves == 1 ? from : children(from, leaves / 10, 10);
}

// Queens in the first rows of a board: the columns that have one, and the fields that one attacks to the left and to the right.
struct Board {
    uint32_t all, columns, left, right;

    template <typename Visit> void each(Visit visit) const {
        for (uint32_t free = all & ~(columns | left | right); free; free &= free - 1) {
            uint32_t queen = free & -free;
            visit(Board{all, columns | queen, (left | queen) << 1, (right | queen) >> 1});
        }
    }

    // The ways to place the rest on one thread.
    uint64_t alone() const {
        uint64_t count = columns == all;
        each([&](Board next) { count += next.alone(); });
        return count;
    }

    // The same, with a task for each placement, all in one group.
    void explore(tbb::task_group &group, tbb::combinable<uint64_t> &counts) const {
        if (columns == all) counts.local()++;
        each([&](Board next) { group.run([=, &group, &counts] { next.explore(group, counts); }); });
    }
};

uint64_t queens(uint64_t size) {
    tbb::task_group group;
    tbb::combinable<uint64_t> counts([] { return uint64_t{0}; });
    Board{(1u << size) - 1, 0, 0, 0}.explore(group, counts);
    group.wait();
    return counts.combine(std::plus<uint64_t>());
}

// The most bytes of this process that were in memory at a time.
double peak() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.rfind("VmHWM:", 0) == 0) return std::strtod(line.c_str() + 6, nullptr) * 1024;
    }
    return std::nan("");
}

// Runs the program again and again.
Values fork_join(tbb::task_arena &arena) {
    uint64_t size = number("size", 1), repetitions = number("repetitions", 1), leaves = 1;
    for (uint64_t i = 0; i < size; i++) leaves *= 10;
    std::map<std::string, std::pair<std::function<uint64_t()>, std::function<uint64_t()>>> programs{
        {"fib", {[=] { return fib(size); }, [=] { return fib_alone(size); }}},
        {"skynet", {[=] { return skynet(0, leaves); }, [=] { return leaves / 2 * (leaves - 1); }}},
        {"nqueens-scope", {[=] { return queens(size); }, [=] { return Board{(1u << size) - 1, 0, 0, 0}.alone(); }}},
    };
    auto found = programs.find(options["program"]);
    if (found == programs.end()) fail("oneTBB does not run " + options["program"]);
    auto [program, alone] = found->second;
    Values times;
    double low = peak();
    auto run = [&](uint64_t index) {
        if (copies(index) != 1) fail("lost or repeated 1 of " + std::to_string(1 + repetitions) + " tasks");
        if (injected("slow")) slow();
        uint64_t answer = 0;
        arena.execute([&] { answer = program(); });
        progress++;
        return answer;
    };
    std::vector<uint64_t> all{run(0)};
    Meter meter;
    for (uint64_t i = 1; i <= repetitions; i++) {
        auto begun = Clock::now();
        all.push_back(run(i));
        times.push_back(std::chrono::duration<double>(Clock::now() - begun).count());
    }
    double wall = meter.walled(), spent = meter.spent(), grown = peak() - low;
    uint64_t right = alone();
    for (uint64_t answer : all) {
        if (answer != right) fail("answered " + std::to_string(answer) + ", and one thread " + std::to_string(right));
    }
    return {median(times), spent / double(repetitions), grown, spent / wall};
}

int main(int count, char **words) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    std::string what = count > 1 ? words[1] : "";
    if (count < 3 || what != "once") fail("brigade-lab starts this program: brigade-lab creation --target cpp");
    for (int i = 3; i + 1 < count; i += 2) options[std::string(words[i]).substr(2)] = words[i + 1];
    int threads = int(number("threads", 1));
    // More than there are CPUs, if that is asked for.
    tbb::global_control most(tbb::global_control::max_allowed_parallelism, size_t(threads));
    tbb::task_arena arena(threads);
    watch();
    std::string workload = words[2];
    if (workload != "creation" && workload != "fork-join") fail("oneTBB does not run " + workload);
    Values values = workload == "creation" ? creation(arena) : fork_join(arena);
    if (injected("stuck")) std::this_thread::sleep_for(std::chrono::hours(24));
    std::cout.precision(17);
    for (size_t i = 0; i < values.size(); i++) {
        std::cout << (i ? "," : "[");
        if (std::isnan(values[i])) std::cout << "null";
        else std::cout << values[i];
    }
    std::cout << "]" << std::endl;
    // The threads end with the process.
    std::_Exit(0);
}
