//! Runs signed directives: agent workflows as files, with no more authority than they declare.
