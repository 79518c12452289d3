//! Files of other programs in the place of items (SPEC 17.2).

use std::path::Path;

use rye_port::{Format, recognise_file};
use rye_types::ItemKind;

use super::finding::FORM_ONLY;
use super::{Finding, Severity};

/// Names the format of a file that is no item here, and the command that reads it; `None` for an item, and for a file of no known format.
pub(super) fn finding(path: &Path, source: &str, findings: &[Finding]) -> Option<Finding> {
    let is_no_item =
        |finding: &Finding| finding.severity == Severity::Error || finding.code == FORM_ONLY;
    if !findings.iter().any(is_no_item) {
        return None;
    }
    let text = path.to_string_lossy().replace('\\', "/");
    let format = recognise_file(&text, source.as_bytes())?;
    // The folder of a skill is read whole, but for one of items.
    let folder = path.parent().filter(|folder| {
        let name = folder.file_name().unwrap_or_default();
        ItemKind::ALL.iter().all(|kind| name != kind.folder())
    });
    let read = match (format, folder) {
        (Format::AgentSkill, Some(folder)) => folder,
        _ => path,
    };
    let message = format!("the file is {}, and no item of Rye", format.phrase());
    let help = format!("`rye import {}` makes a draft of it", read.display());
    Some(
        Finding::remark("foreign-format", &message, 0..0)
            .with_label("of another program")
            .with_help(&help),
    )
}
