package check

// ParseExample reads the lines of an example.
var ParseExample = parseExample
