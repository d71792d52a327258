// Package browser has the tests of the page of mcprec view in a real browser. It is a module of
// its own, so that the client of the browser is no dependency of mcprec, and it imports nothing
// of mcprec: it runs the command and looks at the page.
//
// # Layout
//
// main_test.go builds mcprec and starts one browser for all tests; process_test.go runs mcprec;
// tab_test.go is a tab of the browser: what a test does and reads there, and all that must not
// happen. The tests stand by topic in the other files.
//
// # What a test may count on
//
// Tests run beside each other, each in a tab of its own, which it may have from another test: the page
// is always loaded anew. A tab fails its test on each console message, exception, report of the page's
// policy and failed request. A test waits for a condition in the page; the condition that did not come
// true by the deadline is named, with the page's selectors that it asked for and that are not there.
// No test sleeps.
//
// # Environment
//
// MCPREC_BROWSER=1 makes the absence of a browser a failure; else the tests are skipped.
// MCPREC_BROWSER=PATH names the browser. MCPREC_NIGHT=1 makes the large session ten times as large.
// MCPREC_SHOTS=FOLDER makes TestShots write screenshots.
//
// # What it refuses
//
// It compares no screenshots: fonts differ between machines.
package browser
