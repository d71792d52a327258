package check

// EventsOf reads the lines of an example.
var EventsOf = eventsOf
