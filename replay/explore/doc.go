// Package explore runs live peers under many orders of delivery, and proves hangs.
//
// # Promises
//
// "HANG (proved)" means: every goroutine of the peers is durably blocked, no step of the
// transport is enabled, and until the horizon of virtual time (24 hours by default) timers
// bring only pings and other periodic traffic. No verdict depends on a wall clock, but for
// "UNDECIDED", which says that the engine cannot tell.
//
// A failure has a [Token]. It names, by content, the choices in which the schedule differs
// from the eager one. A run that follows it makes the same choices or says where it
// diverged; it never goes on with another choice.
//
// # Use
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
// A failure prints its token. With the token in [Plan.Token] the test runs that schedule
// alone: it fails before the fix, and passes or diverges after.
//
// # Data layout
//
// A [Plan] is explored as many [Run] values. The gate joins a run's two ends: a bounded
// transport in which Read and Write only park (package gate). The engine loops: wait until
// nothing of the run moves, list the enabled steps, let the strategy choose a step, release
// it. The steps of a frame are take, ack and give; ack and give are unordered. From take on
// each direction is first in, first out; which of several waiting writers is taken first is
// a choice. Other steps are the start of an operation, the close and half close of an end,
// the end of file at a reader, and the peers' own scheduling points ([Point]).
//
// A step's name is its content, so that the same peers give the same names in every run:
//
//	c2s take tools/call "search" by first#1
//	s2c give notifications/progress (tools/call "search" by first#1)#2
//	s2c ack response to tools/call "search" by first#1
//
// # Who plays
//
// Each end is live or recorded. [Run.RecordedServer] answers a live client from
// [Plan.Session], [Run.RecordedClient] says to a live server what was recorded, and
// [Modeled] lets both halves play under endpoint models. A recorded half has no clock.
// Where it waits for the live end in vain, a step (relent) lets it go on; that step is
// enabled when no other is, so the orders around it are not tried, and a note says so. The
// calls of a recorded client are operations of the run, and a live server owes each of them
// a response unless the client cancelled it. That holds also where the recorded server gave
// none: a recording is often cut where it hung.
//
// At level [L0] a recorded half sends in its recorded order; only delivery moves. At [L1]
// it offers every frame that the specification allows it to send now, each as a writer of
// its own would, and the order of the takes is explored. [standin.Player.AllowReorder] and
// [standin.Driver.AllowReorder] say which frames stay in order.
//
// # The search
//
// The runs of a plan are numbered, and a run depends on its number alone. First comes run 0
// at every capacity, eager with the default strategy, then run 1, and so on. However many
// workers make the runs, the search takes them in the order of their numbers: it reports
// the lowest that fails, with the verdicts at the other capacities.
//
// [Coverage] says how much was seen. Two runs are of one class if they differ only in the
// order of steps that commute: steps that wake different ends, and are not both takes of
// one direction. [Exhaustive] visits every class, which proves that no order fails at that
// level and those capacities.
//
// # The oracles
//
// A run whose operations have returned is judged by [Plan.Check], and further:
//
//	Illegal    a live peer broke a MUST of the protocol (package order); a SHOULD is a note
//	Lost       a live peer read a request and answers it to nobody up to the horizon, though
//	           the request was not cancelled and both ends are open; not judged in real time
//	Different  the answer to the same request changes with the order, and both schedules
//	           gave their answers again; a note unless [Plan.SameAnswers] is set
//
// A recorded half is not judged, and [Plan.Lawless] judges neither end.
//
// The report of a hang follows who waits for whom, from an operation to the part that nothing
// blocks, or round the cycle. It names the place of a goroutine by the library's function and
// the caller's own line. A handler of the caller's that a library called for a frame, and that
// has not returned, comes first. For a library's Close the report says what is open at that
// end, and since which step it is closing.
//
// # Shrinking
//
// A failing schedule is shrunk toward eager before it is reported. Eager with all steps
// of the schedule put off, in their order, is that schedule; with none put off it is eager;
// delta debugging goes from the first to the second. A shorter schedule counts only if it
// fails with the same fingerprint: verdict, category, and for a hang which readers are away
// with what kind of frame. Then the token is followed 20 times, and the report says how
// often it held.
//
// A session that the plan plays is shrunk too (package shrink): to the fewest frames that
// are still a legal session and fail alike. A failure by a frame that the session lacks is
// left as it is. Operations are not dropped: without one of them another may wait for ever,
// which cannot be told from the bug.
//
// # The engines
//
// The [Engine] keeps a run still between its steps. [Bubble], the default, puts each run
// into a testing/synctest bubble: time is virtual, and a wait is known to be a wait. Peers
// must be born inside the bubble and wait on channels, contexts, timers, sync.Cond or
// sync.WaitGroup. Any other wait (for a mutex, for I/O, for a channel from outside) freezes
// the bubble and its time. A watcher sees the freeze in the stacks, gives the run up and
// ends the exploration, as a frozen bubble cannot be emptied. The verdict is "UNDECIDED",
// with who waits for what, after the real time of [Plan.Patience].
//
// It is a "HANG (proved)" of the category [Lock] if only mutexes of the run hold it up,
// nothing is enabled, the run made no timer, and no goroutine outside of bubbles could hold
// one of the mutexes (the process has only Go's own and those that wait for tests). To
// count the timers and to know the mutexes, the schedule is run again. The stacks show too
// little of a sync.RWMutex: that stays undecided. A schedule that a mutex froze is also
// tried in real time, and a note says what that gave.
//
// A run whose peer computes for ever is undecided after a minute in which nothing else
// happened (see [Plan.Patience]), and the report says where it computes. So is a run whose
// timers fire again and again without using the gate, if the horizon has not come by then.
// A system call that lasts counts as a wait for something outside.
//
// The search ends before the test's deadline, or by [Plan.Budget] or [Plan.Stop], and
// reports what it has found. Shrinking and following a failure take a minute at most; the
// report says if they were cut short.
//
// [Settle] is for peers that cannot live in a bubble. It takes the stacks of the whole process
// until two in a row show every goroutine of the run in the same wait. Time is real, and
// stacks do not show the timer of a select or a context: it finds a "STALL (quiescent)", which
// is no proof. The first standstill of a search is given all of [Plan.Patience], later ones
// four times as long as the slowest timer took. While a goroutine that is not of the run
// works, sleeps or waits for I/O, the run is "UNDECIDED". Settle makes some sixty schedules a
// second where a bubble makes thousands, and one at a time in the process.
//
// # The files
//
//	plan, search                   what to explore, and what ends it; the runs of a search
//	run, loop                      one schedule: its operations and peers; its steps
//	engine, freeze                 what keeps a run still; standstills that stacks show
//	recorded, modeled              the halves of a recorded session as players, and as models
//	oracle                         broken rules, lost and changed answers
//	(package hang)                 why nothing goes on: by the frames, and by the stacks
//	reduce (and package shrink)    smaller schedules and sessions that fail alike
//	report, record                 what the reader gets; a run as a recording and as a drawing
//	budget_unix, budget_other      the processor time that is used
//
// Package schedule chooses the steps, package gate is the transport, package stacks reads
// goroutine dumps.
//
// # What it refuses
//
// It does not order what a live peer computes between two frames: that is left to the Go
// scheduler, but for scheduling points.
//
// It cannot tell apart two goroutines that a peer starts itself and that write identical
// frames in the same step; a token of such a run may diverge, and says so.
//
// The first signal.Notify of a process starts Go's signal goroutine. In a bubble that
// goroutine waits in a system call, and the run is undecided: call signal.Notify once
// before, or settle.
//
// A panic is a verdict in operations and in goroutines of [Run.Go]; in a goroutine that a
// peer started itself it ends the process. Goroutines that a closed gate and a cancelled
// context do not end stay in the process. The search goes on, up to 200 such runs; the leak
// is its verdict if nothing worse was found, else a note.
package explore
