// Package explore runs live peers under many orders of delivery, and proves hangs.
//
// "HANG (proved)" means: every goroutine of the peers is durably blocked, no step of the
// transport is enabled, and until the horizon of virtual time (24 hours by default) timers
// bring only pings and other periodic traffic. No verdict depends on a wall clock, except
// UNDECIDED: the engine cannot tell.
//
//	func TestProgressBeforeResponse(t *testing.T) {
//		explore.Explore(t, explore.Plan{Setup: func(r *explore.Run) {
//			r.Go(func(ctx context.Context) { serve(ctx, r.Server()) })
//			client := newClient(r.Client())
//			r.Op("call", func(ctx context.Context) error { return client.CallTool(ctx, "search") })
//			r.Op("list", func(ctx context.Context) error { return client.ListTools(ctx) })
//		}})
//	}
//
// A message that an end must receive is awaited with [Run.ClientMustReceive] or
// [Run.ServerMustReceive], without a timer of the test's own.
//
// A failure prints a [Token]. With the token in [Plan.Token] the test runs that schedule
// alone: it fails before the fix, and passes or diverges after. A run that follows a token
// makes the same choices or says where it diverged.
//
// # Data layout
//
// A [Plan] is explored as many [Run] values. A run joins a client and a server by a bounded
// transport in which Read and Write only park (package gate). The engine waits until nothing
// in the run moves, lists the steps that may happen next (the enabled steps), lets the
// strategy choose a step (package schedule), releases it, and begins again. A frame is
// taken from its writer, acknowledged to it, and given to its reader; each is a step. So are
// the start of an operation, the close of an end, and a [Point] in the peers' code. A step
// is named by its content, the same in every run: c2s take tools/call "search" by first#1.
//
// A run is made under terms. A run has four parts: the peers, with the operations; the course,
// which is the steps so far and who chooses the next; the clock; and the outcome. Each part sees
// only what it is given of the earlier ones. An engine keeps the peers still.
//
// Between two steps the goroutines that the first of them woke run as Go schedules them.
// [Run.Burst] starts several operations in one step: with go test -race a data race between
// them is a verdict with a token, [DataRace].
//
// Eager is the schedule that takes the first enabled step each time. The runs of a search
// are numbered; a run depends on its number alone. First comes run 0, eager, at every
// capacity, then run 1, and so on. The search reports the lowest run that fails, however
// many workers make the runs.
//
// [Run.ServerBytes] and [Run.ClientBytes] are ends for peers that write bytes: each Write is a
// step, so that two goroutines that write frames in pieces, without a lock, come to share a line.
//
// A run may have several clients of one server, each with ends of its own ([Run.Pair]), and its
// peers may talk Streamable HTTP ([HTTP]): then each request and each response is a stream of its
// own, and their arrivals, ends and breaks are steps.
//
// [Run.RecordedServer], [Run.RecordedClient] and [Modeled] play an end from a recording
// (package halves): at level [DeliveryOrder] in its recorded order, at [SendingOrder] in every order that the
// specification allows.
//
// # Verdicts
//
// A run whose operations have returned is judged by [Plan.Check], then by the rules of the
// protocol ([Illegal]), by the requests that a live peer read and never answers ([Lost]),
// and by answers that change with the order ([Different]). [Plan.Lawless] turns off the
// rules, and [Plan.Excuse] makes the faults of one end notes; a recorded half is not judged. A
// run that cannot go on is a [Hang], explained by package hang.
//
// The schedule of a failure is shrunk toward eager: fewer steps are put off, as long as the
// failure has the same fingerprint (verdict, category, which readers hold what kind of
// frame). A recorded session is shrunk too (package shrink). Then the token is followed 20
// times, and the report says how often it held. Where a failure does not come each time, most of three
// runs decide. A hang behind a mutex is shrunk in a few runs, as each stays in the process, and its
// token followed three times.
//
// # The engines
//
// [Bubble], the default, puts each run into a testing/synctest bubble: time is virtual.
// Peers must be born inside the bubble and wait on channels, contexts, timers, sync.Cond or
// sync.WaitGroup. Any other wait, for a mutex or for I/O, freezes the bubble and its time. A
// watcher sees the freeze in the stacks and gives the run up.
//
// Virtual time moves when no step is enabled. With [Plan.Timers] it may also pass while frames
// wait: the step «time passes#1» lasts until a timer makes a peer use the gate, at most 5
// minutes. It is always the last of the enabled steps, so eager never chooses it, and the
// strategies seldom do. It is not offered twice without another step between if no timer
// fired, nor while a Write has not returned whose frame was taken, nor when all operations have
// returned. Timers bounds the timers that fire so in a run, and six of these steps may come to
// nothing: periodic traffic makes no run endless. A timer that wakes a goroutine at a mutex,
// held over a wait for the gate, stops virtual time: the run is made again without these steps,
// and so are the later ones at its capacity.
//
// A mutex held over a Write is no reason to stop. After the first freeze of a search by a mutex
// the stacks tell when a run is at rest: steps, time and proofs stay as they are, at about a
// hundred schedules a second. If a goroutine waits for a mutex when no step is left, the
// run is a hang of category [Lock], proved if the mutexes are the run's own and no timer was
// made. If a timer may end it, that run and the later ones at its capacity are made with
// [Settle], and a note says so. A wait for what is outside the run is UNDECIDED, and so is a
// peer that computes for a minute (see [Plan.Patience]).
//
// [Settle] is for peers that cannot live in a bubble. It looks at the stacks of the whole
// process until two looks show every goroutine of the run in the same wait. Time is real,
// and stacks do not show the timer of a select: it finds a [Stall], which is no proof. It
// makes some sixty schedules a second, one at a time in the process; a bubble makes
// thousands.
//
// # The files
//
//	plan, strategies               what to explore, and what ends a search; how steps are chosen, all orders too
//	search                         the runs of a search, in their order
//	run, loop                      a schedule, for Setup and Check; its steps, one after the other
//	peers                          what Setup builds; recorded ends; what live ends break or owe
//	operation                      what a schedule must bring to its end: operations and messages
//	course                         who chooses the steps, and the steps so far, which the trace of a panic has too
//	clock                          time in a standstill, and its periodic traffic; time while frames wait
//	outcome                        how a schedule ended; answers that change with the order
//	engine, settled                what keeps a run still, in a bubble, and when another must; in real time
//	proof                          standstills that stacks show; which are for ever
//	reduce                         smaller schedules and sessions that fail alike
//	schedules                      the steps of a schedule, as they are drawn; the nearest that passes
//	report, record                 what the reader gets; a run as a recording and as a drawing
//	budget_unix, budget_other      the processor time that is used
//
// # What it refuses
//
// It does not order what a live peer computes between two frames, except at a [Point]. Two
// choices of Go's own are in no token: which ready case a select takes, and in which order the
// goroutines of one step offer frames. The report says so where a token did not hold each time. Two
// goroutines of a peer that write identical frames in the same step look alike: a token of
// such a run may diverge, and says so. The first signal.Notify of a process must come before
// a bubble. A panic is a verdict in operations and in goroutines of [Run.Go]; elsewhere it
// ends the process, with the token of the running schedule in the first line of the trace (from Go
// 1.26 on). Goroutines that a closed gate and a cancelled context do not end stay in
// the process; the search goes on, up to 200 such runs.
package explore
