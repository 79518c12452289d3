js
// /// rye
// description: Counts
// input_schema: {type: object}
// ///
