// Goroutines for the workloads `creation`, `bucket-brigade` and `fork-join`, called as the laboratory calls itself for one run:
// `brigade-lab-go once WORKLOAD --option value …`. It prints the values of the metrics in their order, or a reason on stderr.
//
// Every task is counted, in a place of its own: a counter that all share would be the most contended word of the run.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

var (
	tasks       = flag.Int("tasks", 1, "")
	repetitions = flag.Int("repetitions", 1, "")
	warmups     = flag.Int("warmups", 2, "")
	iterations  = flag.Int("iterations", 1, "")
	inFlight    = flag.Int("in-flight", 1, "")
	threads     = flag.Int("threads", 1, "")
	size        = flag.Int("size", 1, "")
	program     = flag.String("program", "", "")
	inject      = flag.String("inject", "", "")
	patience    = flag.Int("patience", 20, "")
)

// What has gone on so far, in steps of any kind.
var progress atomic.Uint64

func main() {
	// The laboratory has checked what these say.
	for _, name := range []string{"kind", "shape", "over", "target"} {
		flag.String(name, "", "")
	}
	if len(os.Args) < 3 || os.Args[1] != "once" {
		fail("brigade-lab starts this program: brigade-lab creation --target go")
	}
	workload := os.Args[2]
	if err := flag.CommandLine.Parse(os.Args[3:]); err != nil {
		fail(err.Error())
	}
	runtime.GOMAXPROCS(*threads)
	runs := map[string]func() []float64{"creation": creation, "bucket-brigade": brigade, "fork-join": fork}
	run, ok := runs[workload]
	if !ok {
		fail("goroutines do not run " + workload)
	}
	isStuck := strings.HasPrefix(*inject, "stuck:")
	isSlow = strings.HasPrefix(*inject, "slow:")
	if isStuck || isSlow {
		*inject = ""
	}
	watch(0)
	results := run()
	if isStuck {
		select {}
	}
	values := make([]any, 0)
	for _, value := range results {
		if math.IsNaN(value) {
			values = append(values, nil)
		} else {
			values = append(values, value)
		}
	}
	text, err := json.Marshal(values)
	if err != nil {
		fail(err.Error())
	}
	fmt.Println(string(text))
}

// Whether each task computes before it is counted.
var isSlow bool

// What a task does before it is counted: nothing, unless it is to be slow.
func slow() {
	if isSlow {
		for begun := time.Now(); time.Since(begun) < 50*time.Microsecond; {
		}
	}
}

// Ends the run without a number.
func fail(reason string) {
	fmt.Fprintln(os.Stderr, "brigade-lab: "+reason)
	os.Exit(1)
}

// Gives the run up when nothing has gone on for all of the patience; it may take twice that to notice.
func watch(seen uint64) {
	time.AfterFunc(time.Duration(*patience)*time.Second, func() {
		steps := progress.Load()
		if steps == seen {
			fail("nothing ran any more")
		}
		watch(steps)
	})
}

// How often the first task runs, which a fault may change.
func copies(index int) int {
	switch {
	case index == 0 && strings.HasPrefix(*inject, "lost:"):
		return 0
	case index == 0 && strings.HasPrefix(*inject, "repeated:"):
		return 2
	}
	return 1
}

// Fails unless each of these tasks ran as often as it had to.
func check(ran []uint32, times int) {
	total, all := 0, len(ran)*times
	for _, count := range ran {
		total += int(count)
	}
	switch {
	case total < all:
		fail(fmt.Sprintf("lost %d of %d tasks", all-total, all))
	case total > all:
		fail(fmt.Sprintf("repeated %d of %d tasks", total-all, all))
	}
	for _, count := range ran {
		if int(count) != times {
			fail(fmt.Sprintf("ran %d tasks, but lost some and repeated others", all))
		}
	}
}

// What the process has used.
type usage struct {
	wall                           time.Time
	user, system, switches, faults float64
}

func now() usage {
	var read syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &read); err != nil {
		fail(err.Error())
	}
	seconds := func(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }
	return usage{time.Now(), seconds(read.Utime), seconds(read.Stime), float64(read.Nvcsw + read.Nivcsw), float64(read.Minflt + read.Majflt)}
}

// The wall time since then, and what has been used.
func (before usage) since() (float64, usage) {
	after := now()
	return after.wall.Sub(before.wall).Seconds(), usage{after.wall, after.user - before.user, after.system - before.system, after.switches - before.switches, after.faults - before.faults}
}

func median(values []float64) float64 {
	return quantile(values, 0.5)
}

// By nearest rank.
func quantile(values []float64, share float64) float64 {
	sorted := append([]float64(nil), values...)
	sort.Float64s(sorted)
	rank := int(math.Ceil(share * float64(len(sorted))))
	return sorted[max(1, min(rank, len(sorted)))-1]
}

// Creates all tasks and waits for all of them, again and again.
func creation() []float64 {
	ran := make([]uint32, *tasks)
	create := func(first bool) float64 {
		begun := time.Now()
		var all sync.WaitGroup
		for index := 0; index < *tasks; index++ {
			times := 1
			if first {
				times = copies(index)
			}
			for ; times > 0; times-- {
				all.Add(1)
				go func() {
					slow()
					ran[index]++
					all.Done()
				}()
			}
		}
		all.Wait()
		progress.Add(1)
		return time.Since(begun).Seconds() / float64(*tasks)
	}
	for i := 0; i < *warmups; i++ {
		create(i == 0)
	}
	times, before := []float64{}, now()
	for i := 0; i < *repetitions; i++ {
		times = append(times, create(false))
	}
	wall, used := before.since()
	check(ran, *warmups+*repetitions)
	none := math.NaN()
	return []float64{median(times), none, none, none, none, (used.user + used.system) / wall}
}

// Passes bytes through a line of tasks, from each to the next.
func brigade() []float64 {
	room := max(*inFlight, 2) + 1
	ran := make([]uint32, *tasks+1)
	first := make(chan byte, room)
	last := first
	for task := 0; task < *tasks; task++ {
		from, to := last, make(chan byte, room)
		last = to
		go func() {
			for value := range from {
				slow()
				ran[task]++
				to <- value
			}
			close(to)
		}()
	}
	times := []float64{}
	pass := func(count int, window int, isFirst bool) {
		begun, sent := []time.Time{}, 0
		for arrived := 0; arrived < count; arrived++ {
			for sent < count && sent < arrived+window {
				begun = append(begun, time.Now())
				copied := 1
				if isFirst {
					copied = copies(sent)
				}
				for ; copied > 0; copied-- {
					first <- byte(sent)
				}
				sent++
			}
			if isFirst && *inject != "" {
				// A byte that is missing would never come.
				break
			}
			<-last
			ran[*tasks]++
			progress.Add(1)
			times = append(times, time.Since(begun[arrived]).Seconds())
		}
	}
	done := make(chan []float64)
	go func() {
		pass(*warmups, max(*inFlight, 2), true)
		times = make([]float64, 0, *iterations)
		before := now()
		if *inject == "" {
			pass(*iterations, *inFlight, false)
		}
		wall, used := before.since()
		close(first)
		for range last {
			ran[*tasks]++
		}
		hops := float64(*iterations * (*tasks + 1))
		cpu := used.user + used.system
		mean, deviation := moments(times)
		if len(times) == 0 {
			times = append(times, math.NaN())
		}
		done <- []float64{
			wall / hops, quantile(times, 0.5), quantile(times, 0.9), quantile(times, 0.99), quantile(times, 0.999), quantile(times, 1),
			cpu / hops, used.switches / hops, mean, deviation, used.user / hops, used.system / hops, used.faults / hops, cpu / wall,
		}
	}()
	values := <-done
	if *inject != "" {
		*iterations = 0
	}
	check(ran, *warmups+*iterations)
	return values
}

// The mean, and the standard deviation of a sample.
func moments(values []float64) (float64, float64) {
	sum, squares := 0.0, 0.0
	for _, value := range values {
		sum += value
	}
	mean := sum / float64(len(values))
	for _, value := range values {
		squares += (value - mean) * (value - mean)
	}
	return mean, math.Sqrt(squares / max(float64(len(values))-1, 1))
}

// A Fibonacci number, with a goroutine for one of the two of each fork, as there is no other way to fork.
func fib(index int) int {
	if index < 2 {
		return index
	}
	one := make(chan int, 1)
	go func() { one <- fib(index - 1) }()
	other := fib(index - 2)
	return <-one + other
}

// The number on one goroutine.
func fibAlone(index int) int {
	want, next := 0, 1
	for i := 0; i < index; i++ {
		want, next = next, want+next
	}
	return want
}

// The sum of the numbers of these leaves, of a tree with ten children a node, each of which is a goroutine.
func skynet(from, leaves int) int {
	if leaves == 1 {
		return from
	}
	sums, sum := make(chan int, 10), 0
	for child := 0; child < 10; child++ {
		go func() { sums <- skynet(from+child*leaves/10, leaves/10) }()
	}
	for child := 0; child < 10; child++ {
		sum += <-sums
	}
	return sum
}

// Queens in the first rows of a board: the columns that have one, and the fields that one attacks to the left and to the right.
type board struct{ all, columns, left, right uint32 }

// Calls visit with each board that has a queen more.
func (b board) each(visit func(board)) {
	for free := b.all &^ (b.columns | b.left | b.right); free != 0; free &= free - 1 {
		queen := free & -free
		visit(board{b.all, b.columns | queen, (b.left | queen) << 1, (b.right | queen) >> 1})
	}
}

// The ways to place the rest, with a goroutine for each placement if there is something that they end.
func (b board) count(all *sync.WaitGroup, found *atomic.Int64) {
	if b.columns == b.all {
		found.Add(1)
	}
	b.each(func(next board) {
		if all == nil {
			next.count(nil, found)
			return
		}
		all.Add(1)
		go func() {
			next.count(all, found)
			all.Done()
		}()
	})
}

// All ways to place that many queens, on goroutines or on this one alone.
func queens(count int, alone bool) int {
	var all sync.WaitGroup
	var found atomic.Int64
	group := &all
	if alone {
		group = nil
	}
	board{all: 1<<count - 1}.count(group, &found)
	all.Wait()
	return int(found.Load())
}

// Runs the same program again and again.
func fork() []float64 {
	leaves := 1
	for i := 0; i < *size; i++ {
		leaves *= 10
	}
	programs := map[string][2]func() int{
		"fib":           {func() int { return fib(*size) }, func() int { return fibAlone(*size) }},
		"skynet":        {func() int { return skynet(0, leaves) }, func() int { return leaves / 2 * (leaves - 1) }},
		"nqueens-scope": {func() int { return queens(*size, false) }, func() int { return queens(*size, true) }},
	}
	compute, ok := programs[*program]
	if !ok {
		fail("goroutines do not run " + *program)
	}
	answers, low := []int{}, peak()
	run := func(index int) {
		if copies(index) != 1 {
			fail(fmt.Sprintf("lost or repeated 1 of %d tasks", 1+*repetitions))
		}
		slow()
		answers = append(answers, compute[0]())
		progress.Add(1)
	}
	run(0)
	times, before := []float64{}, now()
	for i := 1; i <= *repetitions; i++ {
		begun := time.Now()
		run(i)
		times = append(times, time.Since(begun).Seconds())
	}
	wall, used := before.since()
	cpu, grown, right := used.user+used.system, peak()-low, compute[1]()
	for _, answer := range answers {
		if answer != right {
			fail(fmt.Sprintf("answered %d, and one goroutine %d", answer, right))
		}
	}
	return []float64{median(times), cpu / float64(*repetitions), grown, cpu / wall}
}

// The most bytes of this process that were in memory at a time.
func peak() float64 {
	text, _ := os.ReadFile("/proc/self/status")
	for _, line := range strings.Split(string(text), "\n") {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kilobytes, _ := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(rest, "kB")), 64)
			return kilobytes * 1024
		}
	}
	return math.NaN()
}
