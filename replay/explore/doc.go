// Package explore runs live peers under many orders of delivery, and proves hangs.
//
// # Promises
//
// A "HANG (proved)" is one: every goroutine of the peers is durably blocked, no
// step of the transport is enabled, and no timer within the horizon of virtual
// time (24 hours unless said otherwise) brings anything but pings and other traffic
// that recurs by timers alone. No wall clock takes part in it, nor in any other
// verdict but "UNDECIDED", which says that this engine cannot tell.
//
// A failure has a [Token]. It names the choices in which the schedule differs from
// the eager one by their content, and following it makes the same choices or says
// where it diverged. It never goes on with something else.
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
// A failure prints its token. With it in [Plan.Token] the test runs that schedule
// alone: it fails before the fix, and passes or diverges after.
//
// # Data layout
//
// A [Plan] is explored as many [Run] values. A run's two ends are joined by the
// gate, a bounded transport in which Read and Write only park. The engine loops:
// wait until nothing of the run moves, list the enabled steps, let the strategy
// choose one, release it. A frame takes four steps:
//
//	offer  Write was called            seen, not chosen
//	take   it left its writer's hand   needs room; at capacity 0 a waiting reader
//	ack    Write returns
//	give   Read returns it             at capacity 0 in one step with take
//
// Ack and give are unordered. Each direction is first in, first out from take on;
// which of several waiting writers is taken first is a choice. The start of an
// operation, the close and half close of an end, the end of file at a reader and
// the peers' own scheduling points ([Point]) are steps too.
//
// A step's content name is made of its direction, kind, method, tool, prompt or
// uri, the operation that wrote the frame (where it passes its context on to
// Write) and an occurrence number. A response is named after its request, and so
// are progress and cancellation. No id, no address and no order of arrival is in
// a name, so that the same peers give the same names on every run:
//
//	c2s take tools/call "search" by first#1
//	s2c give notifications/progress (tools/call "search" by first#1)#2
//	s2c ack response to tools/call "search" by first#1
//
// # Who plays
//
// Each end is live or recorded. [Run.RecordedServer] answers a live client from
// [Plan.Session], [Run.RecordedClient] says to a live server what was recorded, and
// [Modeled] lets both halves play under endpoint models. A recorded half is a
// machine without a clock: where the live end keeps silent about something that it
// waits for, it is told so by a step of its own (relent), which is enabled when
// nothing else is. A note names what it went on without: that comes after all else,
// so the orders around it are not tried. The calls of a recorded client are operations of the run, so
// that a hang names them. A live server owes each of them a response, also where the
// recorded one gave none, unless the client cancelled it: a recording is often cut
// where it hung.
//
// At level [L0] a recorded half sends in its recorded order; only delivery moves.
// At [L1] it offers every frame that the specification allows it to send now, each
// as a writer of its own would: which is taken first is the order. Eager takes them
// in recorded order. What stays in order is told at [standin.Player.Loosen] and
// [standin.Driver.Loosen].
//
// # The search
//
// The runs of a plan are numbered, and a run depends on its number alone. First
// comes run 0 at every capacity, eager with the default strategy, then the others,
// round about. However many workers make them, they are taken in the order of
// their numbers: the lowest one that fails is reported, with what it gives at the
// other capacities.
//
// A report says what was seen ([Coverage]). Two runs are of one class when they
// differ only in the order of steps that commute: steps that wake different ends,
// and are not both takes of one direction. [Exhaustive] visits every class; when
// it has, it is proved that no order fails at that level and those capacities.
//
// # The oracles
//
// A run whose operations have returned is asked more. [Plan.Check] is the user's
// own. [Illegal]: a live peer broke a MUST of the protocol, by the rules of package
// order; a SHOULD is a note. [Lost]: a live peer read a request and, up to the
// horizon, answers it to nobody, though the request was not cancelled and both ends
// are open; where time is real nobody can know that, and it is not judged.
// [Different]: the answer to the same request changes with the order, which is a
// note unless [Plan.SameAnswers] is set, and said only when both schedules gave
// their answers again. What a recorded half says is not judged, and [Plan.Lawless]
// judges nobody.
//
// A hang's report follows who waits for whom, from an operation to the part that
// nobody holds up, or round; where a goroutine stands it tells by the library's
// function and the caller's own line. A handler of the caller's, which a library called
// when a frame was given and which has not returned, is named first, also where it
// waits in a call of the library. For a library's Close the report says what is open at its
// end, and since which step it is closing.
//
// # What a failure comes to
//
// A failing schedule is shrunk before it is reported, toward eager: eager with all
// of its steps put off, in their order, is that schedule, with none it is eager, and
// delta debugging goes from the one to the other. A shorter schedule counts only
// if it fails with the same fingerprint: verdict, category, and of a hang which
// readers are away with what kind of frame. So a report says in one or two lines
// what the order is that it takes. Then its token is followed 20 times, and the
// report says how often it held, where that was not always.
//
// Where the plan plays a session, that is shrunk too (package shrink): to the
// fewest frames that still are a legal session and fail like this, with no more
// asked of it that it does not have. A failure by what it lacks is left as it is.
//
// Operations are not dropped. Without one of them another may wait for ever that
// would not, and nothing tells that from the bug.
//
// # The engines
//
// What keeps a run still between its steps is the [Engine]. The default puts each
// run into a testing/synctest bubble of its own: time is virtual, and a wait is
// known to be one. Peers must be born inside the bubble and wait on channels,
// contexts, timers, sync.Cond or sync.WaitGroup. Another wait (for a mutex, for
// I/O, for a channel from outside) freezes the bubble while it lasts, and its time.
// A watcher outside sees that in the stacks, gives the run up and ends the
// exploration, as a frozen bubble cannot be emptied. The verdict is "UNDECIDED",
// with who waits for what, after the real time of [Plan.Patience]; or, where only
// mutexes of the run hold it up, nothing is enabled, no timer was ever made in the
// run and no goroutine outside of bubbles could hold one (the process must have
// none but Go's own and those that wait for tests), a "HANG (proved)" of the
// category [Lock]. To count the timers and to know the mutexes, the schedule is run
// once more. (Of a sync.RWMutex the stacks show too little: that stays undecided.)
// What froze a bubble by a mutex is also tried in real time, and the report says
// what that gave.
//
// A peer that computes for ever is not looked into: its run is undecided after a
// minute in which nothing else happened (see [Plan.Patience]), and says where it
// computes. So is one whose timers fire again and again, and use the gate for nothing, when
// the horizon has not come by then. A system call that lasts is a wait for something
// from outside.
//
// So each run ends. The search ends before the test's deadline, or by [Plan.Budget] or
// [Plan.Stop], and reports what it has found; what follows on a failure takes a minute at
// most, and the report says what it was cut short of. No verdict but "UNDECIDED" depends
// on any of it.
//
// [Settle] is for peers that cannot live in a bubble. It takes the stacks of the
// whole process until two looks in a row show every goroutine of the run waiting
// at the same place. Time is real, and stacks show a sleeper, but not the timer of
// a select or a context: what it finds is a "STALL (quiescent)", no proof. The first
// standstill of a search is given all of [Plan.Patience] (later ones four times as
// long as the slowest timer took), and while somebody who is not of the run works,
// sleeps or waits for I/O it is "UNDECIDED". It makes some sixty schedules a second
// where a bubble makes thousands, one at a time in the process.
//
// # The files
//
//	plan, search, limits           what to explore; the runs of a search, and what ends it
//	run, loop                      one schedule: its operations and peers; its steps
//	strategy, exhaustive           how the next step is chosen
//	independence, coverage         which steps commute; classes of schedules
//	token                          the spelling of a schedule, and how it is followed
//	engine, settle, freeze         what keeps a run still; standstills that stacks show
//	recorded, modeled              the halves of a recorded session as players, and as models
//	oracle                         broken rules, lost and changed answers
//	diagnose, chain, trace         why nothing goes on
//	periodic                       traffic of timers, which is no progress
//	reduce (and package shrink)    smaller schedules and sessions that fail alike
//	report, record                 what the reader gets; a run as a recording and as a drawing
//	budget_unix, budget_other      the processor time that is used
//
// Package gate is the transport, package stacks reads goroutine dumps.
//
// # What it refuses
//
// Of live ends only delivery moves: what a peer computes between two frames is left
// to the Go scheduler, but for its scheduling points.
//
// Two goroutines that a peer starts itself and that write identical frames in the
// same step cannot be told apart; a token of such a run may diverge, and says so.
//
// The first signal.Notify of a process starts Go's signal goroutine. In a bubble that
// waits in a system call, so that the run is undecided: call signal.Notify once
// before, or settle.
//
// A panic is a verdict in operations and in goroutines of [Run.Go]; in a goroutine
// that a peer started itself it ends the process, as Go has it. Goroutines that a
// closed gate and a cancelled context do not end stay in the process. The search goes on
// (up to 200 such runs); the leak is its verdict if nothing worse was found, else a note.
package explore
