package diagnosis

import (
	"fmt"
	"slices"
	"strings"
)

// stream applies the rules for one stream.
func (c *Cluster) stream(found *findings, stream *Stream) {
	switch {
	case stream.Missing:
		found.add(Note, "stream", fmt.Sprintf("there is no stream %s yet", stream.Name),
			"the first recorder makes it, if its credentials may", "")
		return
	case stream.Fault != "":
		found.add(Error, "stream", fmt.Sprintf("stream %s does not answer: %s", stream.Name, stream.Fault),
			"nothing can be written to it, and nothing read", "see whether a majority of its servers is up: nats stream report")
		return
	}
	c.replicas(found, stream)
	stream.members(found)
	stream.keeping(found)
	stream.taking(found, c.Needs)
	stream.room(found)
}

// replicas says what the death of a machine costs.
func (c *Cluster) replicas(found *findings, stream *Stream) {
	edit := "nats stream edit " + stream.Name
	servers := c.size()
	switch {
	case stream.Storage != "file" && stream.Storage != "":
		found.add(Error, "storage", fmt.Sprintf("stream %s is kept in %s", stream.Name, stream.Storage),
			"every session would be gone when its servers restart; mcprec refuses the stream", "make it anew with --storage file: a stream cannot be changed so")
	case stream.Replicas < 3 && servers >= 3:
		found.add(Error, "replicas", fmt.Sprintf("stream %s has %s in a cluster of %d servers", stream.Name, copies(stream.Replicas), servers),
			lossOf(stream.Replicas), edit+" --replicas 3")
	case stream.Replicas < 3:
		found.add(Warning, "replicas", fmt.Sprintf("stream %s has %s", stream.Name, copies(stream.Replicas)),
			lossOf(stream.Replicas), "run three servers on three machines, then "+edit+" --replicas 3; docs/shared-store.md has a configuration")
	case stream.Replicas%2 == 0:
		found.add(Note, "replicas", fmt.Sprintf("stream %s has %d replicas", stream.Name, stream.Replicas),
			fmt.Sprintf("it survives no more failures than %d would", stream.Replicas-1), "")
	}
}

func copies(replicas int) string {
	if replicas == 1 {
		return "one copy"
	}
	return fmt.Sprintf("%d replicas", replicas)
}

func lossOf(replicas int) string {
	if replicas == 1 {
		return "if its disk fails, every session in it is lost, but for the last minutes, which recorders still have; while its server is down nobody reads, and recorders wait"
	}
	return "both servers must be up: when one is down nobody reads, and recorders wait"
}

// members says which replicas do not follow.
func (s *Stream) members(found *findings) {
	if s.Clustered && s.Leader == "" {
		found.add(Error, "leader", fmt.Sprintf("stream %s has no leader", s.Name),
			"nothing can be written to it, and nothing read; recorders keep what they have in their outboxes",
			"look again after ten seconds, which an election takes at most; else start its other servers: a majority must be up")
		return
	}
	for _, follower := range s.Followers {
		switch {
		case follower.Offline:
			found.add(Warning, "followers", fmt.Sprintf("replica %s of stream %s is offline", follower.Name, s.Name),
				"fewer servers may fail before the stream stops", "start "+follower.Name)
		case !follower.Current:
			found.add(Warning, "followers", fmt.Sprintf("replica %s of stream %s is %s behind the leader", follower.Name, s.Name, plural(int(follower.Lag), "operation")),
				"a replica that is behind does not count when others fail", "wait, and look again; if it stays behind, look at its disk and its log")
		}
	}
}

// keeping says what deletes events behind mcprec's back.
func (s *Stream) keeping(found *findings) {
	edit := "nats stream edit " + s.Name
	if s.Retention != "limits" && s.Retention != "" {
		found.add(Error, "retention", fmt.Sprintf("stream %s has the retention %s", s.Name, s.Retention),
			"the server would delete what a reader has read; mcprec refuses the stream", "make it anew with --retention limits: a stream cannot be changed so")
	}
	limited := s.MaxBytes > 0 || s.MaxMessages > 0
	switch {
	case s.Sessions && s.Discard == "old" && limited:
		found.add(Error, "discard", fmt.Sprintf("stream %s discards its oldest messages when it is full", s.Name),
			"the beginnings of sessions would go without a word, and mcprec refuses the stream; with discard new a recorder keeps in its outbox what finds no room", edit+" --discard new")
	case !s.Sessions && limited:
		found.add(Error, "limits", fmt.Sprintf("stream %s has a limit", s.Name),
			"sessions would be gone from the lists when it is full; mcprec refuses the stream. An entry has some hundred bytes", edit+" --max-bytes=-1 --max-msgs=-1")
	}
	switch {
	case s.Sessions && s.MaxPerSubject > 0:
		found.add(Error, "max_per_subject", fmt.Sprintf("stream %s keeps %s of a session", s.Name, plural(int(s.MaxPerSubject), "message")),
			"of a longer session the beginning would be lost, or the rest refused; mcprec refuses the stream", edit+" --max-msgs-per-subject=-1")
	case !s.Sessions && s.MaxPerSubject != 1:
		found.add(Error, "max_per_subject", fmt.Sprintf("stream %s keeps older entries of a session", s.Name),
			"it must keep the last one only; mcprec refuses the stream", edit+" --max-msgs-per-subject=1")
	}
	if s.MaxAge > 0 {
		found.add(Error, "max_age", fmt.Sprintf("stream %s deletes messages after %v", s.Name, s.MaxAge),
			"messages would go by their own age, and of a long session the beginning first; mcprec refuses the stream",
			edit+" --max-age=0s, and delete whole sessions: mcprec store prune --older-than 30d, or store archive --delete")
	}
	if s.DenyPurge {
		found.add(Note, "deny_purge", fmt.Sprintf("stream %s cannot be purged", s.Name), "rm, prune and archive --delete do not work; no limit of a session's age can be kept", "")
	}
}

// taking says what the stream refuses.
func (s *Stream) taking(found *findings, needs Needs) {
	edit := "nats stream edit " + s.Name
	switch {
	case s.Sealed:
		found.add(Error, "sealed", fmt.Sprintf("stream %s is sealed", s.Name), "it takes no message any more", "use another stream: a sealed one cannot be opened")
	case s.Mirror:
		found.add(Error, "mirror", fmt.Sprintf("stream %s is a mirror of another", s.Name), "nobody can publish to it; it can be read", "let recorders use the stream that it mirrors")
	}
	if s.Wanted != "" && !s.Mirror && !slices.Contains(s.Subjects, s.Wanted) && !slices.Contains(s.Subjects, ">") {
		found.add(Error, "subjects", fmt.Sprintf("stream %s takes %s", s.Name, strings.Join(s.Subjects, ", ")),
			fmt.Sprintf("mcprec publishes to %s, which nobody keeps", s.Wanted), edit+" --subjects '"+s.Wanted+"'")
	}
	if s.MaxMessage > 0 && s.MaxMessage < needs.MinMessage {
		found.add(Error, "max_message", fmt.Sprintf("stream %s takes messages of at most %s", s.Name, size(s.MaxMessage)),
			fmt.Sprintf("mcprec needs %s: what it sends is refused, and stays in the outbox", size(needs.MinMessage)), edit+" --max-msg-size=-1")
	}
	if s.Sessions && !s.AtomicPublish {
		found.add(Error, "atomic_publish", fmt.Sprintf("stream %s does not allow atomic batches", s.Name),
			"an event larger than a message goes as one: such an event is cut", edit+" --allow-batch")
	}
	if !s.Sessions && !s.AllowDirect {
		found.add(Error, "allow_direct", fmt.Sprintf("stream %s has no direct get", s.Name), "lists are read by it; mcprec refuses the stream", edit+" --allow-direct")
	}
}

// room says how full the stream is.
func (s *Stream) room(found *findings) {
	edit := "nats stream edit " + s.Name
	if !s.Sessions {
		return
	}
	if s.MaxBytes <= 0 {
		found.add(Warning, "max_bytes", fmt.Sprintf("stream %s has no limit", s.Name),
			"it grows until the disk of a server is full, and then every stream of that server stops", edit+" --max-bytes=…, somewhat less than the smallest disk; and delete sessions by a timer (mcprec store prune)")
	}
	used := full(s.Bytes, s.MaxBytes)
	text := fmt.Sprintf("%s of %s", size(s.Bytes), size(s.MaxBytes))
	if messages := full(s.Messages, s.MaxMessages); messages > used {
		used = messages
		text = fmt.Sprintf("%d of %d messages", s.Messages, s.MaxMessages)
	}
	if used >= fairlyFull {
		found.add(severityOf(used), "room", fmt.Sprintf("stream %s has %s", s.Name, text), whenFull, "delete sessions (mcprec store prune, mcprec store archive --delete), or raise the limit")
	}
}
