// The page of mcprec view is built into this file.
