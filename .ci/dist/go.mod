// What writes the texts of a release, and tests it. It is apart from the main module so that users of
// mcprec do not download what only a release needs. It is not published.
module github.com/mcprec/mcprec/.ci/dist

go 1.25.0

require golang.org/x/mod v0.30.0
