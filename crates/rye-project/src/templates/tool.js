#!/usr/bin/env node
// /// rye
// description: Says how many words a text has.
// version: "0.1.0"
// timeout_seconds: 60
// input_schema:
//   type: object
//   properties:
//     text: {type: string, description: The text.}
//   required: [text]
//   additionalProperties: false
// ///
const arguments_ = JSON.parse(require("fs").readFileSync(0, "utf8"));
console.log(JSON.stringify({ words: arguments_.text.split(/\s+/).filter(Boolean).length }));
