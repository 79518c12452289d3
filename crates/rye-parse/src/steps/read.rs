//! Parsing of the steps of a body.

use std::ops::Range;

use super::{
    Primary, Step, action, call, stray,
    token::{Kind, Token, tokens},
};
use crate::{
    Problem, ProblemKind, Spanned, problem::Report, span::trim_range, suggest::suggestion, xml,
};

/// Parses the steps of the text after the fence, then those of the parts inside the fence.
///
/// If a text has `<step>` elements, they are its steps. Otherwise, every section with a call is a step.
pub(crate) fn read(
    report: &mut Report<'_>,
    after: &Range<usize>,
    inside: &[Range<usize>],
) -> Vec<Spanned<Step>> {
    let mut steps = Vec::new();
    for (place, range) in std::iter::once(after).chain(inside).enumerate() {
        let tokens = tokens(report.source, range.clone());
        let is_in_process = 0 < place;
        stray::report_stray_steps(report, &tokens, is_in_process);
        let marked = tokens
            .iter()
            .any(|token| matches!(token.kind, Kind::Open("step") | Kind::Empty("step")));
        let reader = Reader { report, steps: Vec::new(), step: None, element: None };
        steps.extend(if marked {
            reader.elements(&tokens, range.end)
        } else {
            reader.sections(&tokens, range)
        });
    }
    steps
}

/// A step whose end is not parsed yet.
struct Open {
    step: Step,
    /// The start of the step.
    start: usize,
    /// The start of its text.
    text: usize,
    /// The parts of its text that do not belong to the description: calls and their elements.
    calls: Vec<Range<usize>>,
    /// The text of its `<description>`.
    description: Option<Range<usize>>,
    /// `true` if the step names a call, even one that cannot be parsed.
    calling: bool,
}

/// The steps that are parsed so far.
struct Reader<'r, 's> {
    report: &'r mut Report<'s>,
    steps: Vec<Spanned<Step>>,
    step: Option<Open>,
    /// An element inside the step whose end is not parsed yet.
    element: Option<(&'s str, Range<usize>)>,
}

impl<'s> Reader<'_, 's> {
    /// Parses the `<step>` elements.
    fn elements(mut self, tokens: &[Token<'s>], end: usize) -> Vec<Spanned<Step>> {
        for token in tokens {
            match token.kind {
                Kind::Open("step") => {
                    self.close_unclosed(token.span.start);
                    self.open_element(&token.span);
                }
                Kind::Empty("step") => {
                    self.close_unclosed(token.span.start);
                    self.open_element(&token.span);
                    self.close(token.span.end, token.span.end);
                }
                Kind::Close("step") => {
                    self.drop_element();
                    self.close(token.span.start, token.span.end);
                }
                Kind::Close("process") => self.close_unclosed(token.span.start),
                _ if self.step.is_some() => self.inside(token),
                _ => self.outside(token),
            }
        }
        self.close_unclosed(end);
        self.steps
    }

    /// Parses the sections under headings and bold lines.
    fn sections(mut self, tokens: &[Token<'s>], range: &Range<usize>) -> Vec<Spanned<Step>> {
        self.open(None, range.start, range.start);
        for token in tokens {
            match token.kind {
                Kind::Heading(heading) => {
                    self.close_section(token.span.start);
                    self.open(Some(heading.to_owned()), token.span.start, token.span.end);
                }
                Kind::Code(_) | Kind::UnclosedCode(_) => self.inside(token),
                Kind::UnclosedMarkup(_) => {}
                Kind::Open(_)
                | Kind::Empty(_)
                | Kind::Close(_)
                | Kind::Unknown(_)
                | Kind::Other(_) => {
                    self.outside(token);
                }
            }
        }
        self.close_section(range.end);
        self.steps
    }

    /// Processes a token inside a step.
    fn inside(&mut self, token: &Token<'s>) {
        match (token.kind, &self.element) {
            (Kind::Close(name), Some((open, start))) if name == *open => {
                let start = start.clone();
                self.element = None;
                self.element(name, start, &token.span);
            }
            (Kind::Open(name), None)
                if name == "description" || self.has_attributes(&token.span) =>
            {
                self.element = Some((name, token.span.clone()));
            }
            (Kind::Empty(name), None) => self.element(name, token.span.clone(), &token.span),
            (Kind::Code(code), None | Some(("description", _))) => self.call(code, &token.span),
            (Kind::UnclosedCode(code), None | Some(("description", _))) => {
                if let Some((primary, _)) = call::start(code) {
                    let why = "its closing backtick is missing".to_owned();
                    self.unreadable(format!("`rye_{primary}(…)`"), token.span.clone(), Some(why));
                }
            }
            (Kind::Unknown(name), None) => {
                let why = suggestion(name, Primary::NAMES);
                self.unreadable(format!("`<{name}>`"), token.span.clone(), Some(why));
            }
            (Kind::Other(name), None) => {
                let kind = ProblemKind::UncalledElement { name: name.to_owned() };
                let problem = Problem::new(kind, token.span.clone(), "left as text");
                self.report.note(problem.help(
                    "write a call as `<execute item_type=\"tool\" item_id=\"…\">` with a `<param name=\"…\" value=\"…\" />` for each argument",
                ));
            }
            _ => {}
        }
    }

    /// Reports a call that is in no step, so that nothing carries it out.
    fn outside(&mut self, token: &Token<'s>) {
        let (Kind::Open(name) | Kind::Empty(name)) = token.kind else { return };
        if name.parse::<Primary>().is_ok() && self.has_attributes(&token.span) {
            let why = "put it into a `<step name=\"…\">`".to_owned();
            self.unreadable(format!("`<{name}>`"), token.span.clone(), Some(why));
        }
    }

    /// Processes a complete element: a description or a call.
    fn element(&mut self, name: &str, start: Range<usize>, end: &Range<usize>) {
        let Some(open) = &mut self.step else { return };
        let Ok(primary) = name.parse::<Primary>() else {
            if name == "description" && start.end <= end.start {
                open.description.get_or_insert(start.end..end.start);
            }
            return;
        };
        let span = start.start..end.end;
        open.calls.push(span.clone());
        open.calling = true;
        // The element must be valid XML to be a call. Its problems are reported as one note.
        let mut scratch = Report::new(self.report.source);
        let action = xml::read(&mut scratch, span.clone())
            .map(|element| action::read(&mut scratch, &element, primary));
        match (scratch.finish(), action) {
            (Ok(_), Some(action)) => open.step.actions.push(action),
            (Err(error), _) => {
                let why = error.problems().first().map(ToString::to_string);
                self.unreadable(format!("`<{name}>`"), span, why);
            }
            (Ok(_), None) => self.unreadable(format!("`<{name}>`"), span, None),
        }
    }

    fn call(&mut self, code: &str, span: &Range<usize>) {
        let (Some(open), Some((primary, arguments))) = (&mut self.step, call::start(code)) else {
            return self.misspelt(code, span);
        };
        open.calls.push(span.clone());
        open.calling = true;
        match call::read(primary, arguments) {
            Ok(action) => open.step.actions.push(Spanned::new(action, span.clone())),
            Err(why) => self.unreadable(format!("`rye_{primary}(…)`"), span.clone(), Some(why)),
        }
    }

    /// Reports a code span that is nearly a call: `rye_exec(…)`. Other names are those of tools, which a text may mention.
    fn misspelt(&mut self, code: &str, span: &Range<usize>) {
        let name = code.strip_prefix("rye_").and_then(|rest| rest.split_once('('));
        let Some((name, arguments)) = name.filter(|_| self.step.is_some()) else { return };
        let names_item = ["item_id", "item_type"].iter().any(|it| arguments.contains(it));
        if name.parse::<Primary>().is_err() && names_item {
            let why = suggestion(name, Primary::NAMES);
            self.unreadable(format!("`rye_{name}(…)`"), span.clone(), Some(why));
        }
    }

    fn open(&mut self, name: Option<String>, start: usize, text: usize) {
        let step = Step { name, ..Step::default() };
        self.step =
            Some(Open { step, start, text, calls: Vec::new(), description: None, calling: false });
    }

    fn open_element(&mut self, tag: &Range<usize>) {
        let mut scratch = Report::new(self.report.source);
        let element = xml::read_tag(&mut scratch, tag.clone());
        let name = element.as_ref().and_then(|element| element.attribute("name"));
        let name = name.map(|name| name.value.trim().to_owned()).filter(|name| !name.is_empty());
        self.open(name, tag.start, tag.end);
    }

    /// Returns `true` if a tag such as `<execute>` is a call and not a word in a sentence.
    fn has_attributes(&self, tag: &Range<usize>) -> bool {
        let mut scratch = Report::new(self.report.source);
        xml::read_tag(&mut scratch, tag.clone())
            .is_some_and(|element| !element.attributes.is_empty())
    }

    /// Ends the open step. `text` is the end of its text, `end` the end of the step.
    fn close(&mut self, text: usize, end: usize) {
        let Some(open) = self.step.take() else { return };
        let mut step = open.step;
        step.description = match open.description {
            Some(place) => self.report.text(&trim_range(self.report.source, place)).to_owned(),
            None => prose(self.report, open.text..text, &open.calls),
        };
        self.steps.push(Spanned::new(step, open.start..end));
    }

    /// Ends the open section. It is a step only if it names a call.
    fn close_section(&mut self, end: usize) {
        if self.step.as_ref().is_some_and(|open| open.calling) {
            let end = self.text_end(end);
            self.close(end, end);
        }
        self.step = None;
    }

    /// Ends a step without an end tag, and adds a note.
    fn close_unclosed(&mut self, end: usize) {
        self.drop_element();
        let Some(open) = &self.step else { return };
        let place = open.start..open.text;
        let problem = Problem::new(ProblemKind::UnclosedStep, place, "ends before the next step");
        self.report
            .note(problem.help("add `</step>` behind its calls; until then they belong to it"));
        let end = self.text_end(end);
        self.close(end, end);
    }

    /// Returns the end of the text before `end` without trailing white space. Only that white space is examined.
    fn text_end(&self, end: usize) -> usize {
        self.report.text(&(0..end)).trim_end().len()
    }

    /// Drops an element that was not closed before the end of its step.
    fn drop_element(&mut self) {
        let Some((name, start)) = self.element.take() else { return };
        self.unreadable(format!("`<{name}>`"), start, Some(format!("its `</{name}>` is missing")));
    }

    fn unreadable(&mut self, what: String, place: Range<usize>, why: Option<String>) {
        let problem = Problem::new(ProblemKind::UnreadableStep { what }, place, "left as text");
        self.report.note(match why {
            Some(why) => problem.help(why),
            None => problem,
        });
    }
}

/// Returns the trimmed text of a step without its calls.
fn prose(report: &Report<'_>, range: Range<usize>, calls: &[Range<usize>]) -> String {
    if calls.is_empty() {
        return report.text(&range).trim().to_owned();
    }
    let mut prose = String::new();
    let mut at = range.start;
    for call in calls {
        prose.push_str(report.text(&(at..call.start)));
        at = call.end;
    }
    prose.push_str(report.text(&(at..range.end.max(at))));
    prose.trim().to_owned()
}
