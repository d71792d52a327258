// Package incoming reads the HTTP/1.1 response to a request of a recorded client, as its bytes come.
//
// # What it promises
//
// What it finds depends on the bytes alone, and not on how they were cut into reads. A frame is there as soon as its last byte
// is. Of a response that is, or says that it is, too long to be held, the rest is dropped, and Broken says so.
//
// # Data layout
//
// A [Response] has the head, and the frames that were found so far: each message event of a stream is one, and the whole body of
// another response is one if it has a message. Bytes that are half of something wait for the rest of it.
//
// # What it refuses to do
//
// It does no I/O, has no clock, and follows no redirection. It does not come back for the rest of a stream: it says by which id,
// and after how long, its caller may do so ("transports", Resumability and Redelivery).
package incoming
