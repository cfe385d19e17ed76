//! The built-ins, a file each, and the table of their names.
