//! The work of a decision, counted in steps, which are the same on every machine.

use super::*;
use crate::pattern::Pattern;

/// Returns the work of deciding whether `outer` covers `inner`, and `true` if the decision was completed.
fn work(outer: &[&str], inner: &str) -> (usize, bool) {
    let outer: Vec<Pattern> = outer.iter().map(|text| text.parse().unwrap()).collect();
    let inner: Pattern = inner.parse().unwrap();
    let globs: Vec<&Glob> = outer.iter().flat_map(Pattern::globs).collect();
    let mut total = (0, true);
    for glob in inner.globs() {
        let mut walk = Walk::new(glob, &globs, Goal::Outside);
        let ended = walk.find().is_ok();
        total = (total.0 + walk.work(), total.1 && ended);
    }
    total
}

#[track_caller]
fn check_at_most(outer: &[&str], inner: &str, limit: usize) {
    let (work, ended) = work(outer, inner);
    assert!(ended && work <= limit, "{work} steps, of which {limit} were expected");
}

#[test]
fn what_people_write_takes_few_steps() {
    check_at_most(&["rye.*"], "rye.execute.*", 500);
    check_at_most(&["rye.execute.tool.*"], "rye.execute.tool.rye.file-system.*", 1_000);
    check_at_most(&["rye.execute.tool.rye.bash.*"], "rye.execute.tool.rye.*", 100);
    check_at_most(&["rye.load.*", "rye.search.*"], "rye.fetch.*", 500);
    check_at_most(&["rye.execute.*.read", "rye.execute.*.write"], "rye.execute.tool.*.read", 5_000);
}

#[test]
fn eight_stars_take_steps_in_proportion_to_their_product_and_no_more() {
    let eight = "rye.load.tool.*a*b*c*d*e*f*g*h";
    check_at_most(&[eight], eight, 20_000);
    check_at_most(&["rye.load.tool.*a*a*a*a*a*a*a*a"], "rye.load.tool.a*a*a*a*a*a*a*a", 20_000);
    check_at_most(&["rye.load.tool.*[ab]*[ab]*[ab]*[ab]"], "rye.load.tool.*a*b*a*b*a*b", 20_000);
}

#[test]
fn a_longer_pattern_takes_more_steps_in_proportion() {
    let steps = |length: usize| {
        let inner = format!("rye.load.tool.{}*", "a".repeat(length));
        let outer = format!("rye.load.tool.{}*", "?".repeat(length));
        let (work, ended) = work(&[&outer], &inner);
        assert!(ended);
        work
    };
    let [short, long] = [steps(60), steps(240)];
    assert!(long <= short * 5, "{short} steps for 60 characters, {long} for 240");
}

#[test]
fn a_question_made_to_be_hard_is_given_up_at_the_budget() {
    let any = "?".repeat(30);
    let [a, other] = [format!("rye.load.tool.*[!a]{any}"), format!("rye.load.tool.*a{any}")];
    let (work, ended) = work(&[&a, &other], &format!("rye.load.tool.?*{any}"));
    assert!(!ended);
    // The last node is completed: one step for each letter in both automata, and one comparison.
    assert!((BUDGET..BUDGET * 11 / 10).contains(&work), "{work}");
}

#[test]
fn a_smaller_budget_gives_up_sooner() {
    let [inner, outer]: [Pattern; 2] =
        ["rye.load.tool.*a*b*c*d*e*f*g*h", "rye.load.tool.*a*b*c*d*e*f*g*[!x]"]
            .map(|text| text.parse().unwrap());
    let outer: Vec<&Glob> = outer.globs().iter().collect();
    let glob = inner.globs().first().unwrap();
    let mut walk = Walk::new(glob, &outer, Goal::Outside).within(50);
    assert_eq!(walk.find(), Err(Exhausted));
    assert!(walk.work() < 200, "{}", walk.work());
}

/// Cases: the outer patterns, the inner one, and the steps of the decision.
#[test]
fn each_step_and_each_comparison_is_counted() {
    let cases: [(&[&str], &str, usize); 4] = [
        (&[], "rye.load.tool.ab", 3),
        (&["rye.load.tool.?"], "rye.load.tool.[ab]*", 9),
        (&["rye.load.tool.?b", "rye.load.tool.a*"], "rye.load.tool.a?", 26),
        (
            &["rye.load.tool.*a", "rye.load.tool.*b", "rye.load.tool.*c"],
            "rye.load.tool.??[abc]",
            90,
        ),
    ];
    let steps = cases.map(|(outer, inner, _)| work(outer, inner).0);
    assert_eq!(steps, cases.map(|(_, _, steps)| steps));
}

#[test]
fn a_budget_of_as_much_as_the_work_is_enough() {
    let [inner, outer]: [Pattern; 2] =
        ["rye.load.tool.a?c", "rye.load.tool.??c"].map(|text| text.parse().unwrap());
    let walk = || Walk::new(&inner.globs()[0], &[&outer.globs()[0]], Goal::Outside);
    let mut whole = walk();
    assert_eq!(whole.find(), Ok(None));
    let needed = whole.work();
    assert_eq!(walk().within(needed).find(), Ok(None));
    assert_eq!(walk().within(needed - 1).find(), Err(Exhausted));
}
