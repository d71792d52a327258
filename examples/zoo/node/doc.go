// Package node has bugs of published MCP software in JavaScript, each shown on a real process.
//
// package.json names the releases with the bugs; fixed.json, with the build tag fixed, those without. npm
// installs both once, into the folder mcprec-zoo of the user's cache, and runs no scripts of packages. Where
// there is no npm, the tests are skipped and their lines are not in the table.
//
// The servers eof.mjs and cancel.mjs use an SDK as its documentation does. The sessions in testdata were
// recorded with the releases without the bugs where there are any.
package node
