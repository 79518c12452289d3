//! Text with a signature line, and its verification.

use rye_types::Timestamp;

use crate::candidates::candidates;
use crate::comment::CommentStyle;
use crate::digest::Digest;
use crate::envelope::{Envelope, MalformedReason};
use crate::error::Error;
use crate::item_name::{ItemName, known_kind};
use crate::key::PublicKey;
use crate::key_id::KeyId;
use crate::layout::{Layout, Line};
use crate::message;
use crate::policy::Policy;
use crate::provenance::{Binding, Coverage, Note, Provenance, Signature};
use crate::trust::{TrustStore, TrustedKey};
use crate::verified::Verified;

/// A text whose signature line was found and parsed, in it or beside it, but not yet verified.
#[derive(Debug, Clone)]
pub struct Unverified<'a> {
    text: &'a str,
    style: CommentStyle,
    layout: Layout<'a>,
    envelope: Envelope,
    /// The signature line is kept in another file than the text.
    is_detached: bool,
}

/// A text that the operator signed under its name and changed since (SPEC D20). It cannot be made a [`Verified`].
#[derive(Debug, Clone)]
pub struct Draft<'a> {
    text: &'a str,
    signature: Signature,
}

impl<'a> Draft<'a> {
    /// The whole text with its signature line, if it carries one.
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// The signature over the text that was there before.
    pub fn signature(&self) -> &Signature {
        &self.signature
    }

    pub(crate) fn into_signature(self) -> Signature {
        self.signature
    }
}

/// Verifies a text. If the policy allows unsigned text, also accepts a text without a signature (SPEC 2.10).
///
/// # Errors
///
/// The ones of [`Unverified::locate`] and [`Unverified::verify`]. A policy that allows unsigned text avoids only
/// [`Error::Unsigned`].
pub fn accept<'a>(
    text: &'a str,
    style: CommentStyle,
    item: &ItemName,
    trust: &TrustStore,
    policy: &Policy,
    now: Timestamp,
) -> Result<Verified<&'a str>, Error> {
    match Unverified::locate(text, style) {
        Err(Error::Unsigned) if policy.allows_unsigned() => {
            Ok(Verified::new(text, Provenance::Unsigned))
        }
        Err(error) => Err(error),
        Ok(unverified) => unverified.verify(item, trust, policy, now),
    }
}

/// Verifies a text whose signature is kept in a file of its own, as [`accept`] verifies one that carries its signature (SPEC 17.3).
/// `signature` is the text of that file, or `None` if there is none.
///
/// # Errors
///
/// The ones of [`Unverified::detached`] and [`Unverified::verify`]. A policy that allows unsigned text avoids only
/// [`Error::Unsigned`].
pub fn accept_detached<'a>(
    text: &'a str,
    signature: Option<&'a str>,
    item: &ItemName,
    trust: &TrustStore,
    policy: &Policy,
    now: Timestamp,
) -> Result<Verified<&'a str>, Error> {
    match Unverified::detached(text, signature.unwrap_or_default()) {
        Err(Error::Unsigned) if policy.allows_unsigned() => {
            Ok(Verified::new(text, Provenance::Unsigned))
        }
        Err(error) => Err(error),
        Ok(unverified) => unverified.verify(item, trust, policy, now),
    }
}

impl<'a> Unverified<'a> {
    /// Parses the signature line of `text` that is kept in a file of its own, whose text is `signature` (SPEC 17.3). All of `text` is
    /// content, also a line that looks like a signature. The signature must be of the new form, which binds a name.
    ///
    /// # Errors
    ///
    /// [`Error::Unsigned`] if `signature` has no signature line, and [`Error::Malformed`] if it is more than one line or cannot be
    /// parsed.
    pub fn detached(text: &'a str, signature: &'a str) -> Result<Self, Error> {
        let beside = Layout::of(signature);
        let Some(Line::Signed(line)) = beside.line else { return Err(Error::Unsigned) };
        let malformed = |reason| Error::Malformed { line: beside.line_number(), reason };
        if !beside.head.is_empty() || !beside.rest.trim().is_empty() {
            return Err(malformed(MalformedReason::FurtherText));
        }
        let style = CommentStyle::DETACHED;
        let envelope = Envelope::parse_line(line, style).map_err(malformed)?;
        let layout = Layout { head: "", line: beside.line, rest: text };
        Ok(Self { text, style, layout, envelope, is_detached: true })
    }

    /// Finds and parses the signature line, which is line 1, or line 2 below a `#!` line. A signature line further
    /// below is content.
    ///
    /// # Errors
    ///
    /// [`Error::Unsigned`] if there is no signature line or only a placeholder, and [`Error::Malformed`] if it cannot
    /// be parsed.
    pub fn locate(text: &'a str, style: CommentStyle) -> Result<Self, Error> {
        let layout = Layout::of(text);
        let Some(Line::Signed(line)) = layout.line else { return Err(Error::Unsigned) };
        let malformed = |reason| Error::Malformed { line: layout.line_number(), reason };
        if !layout.has_shebang() && layout.rest.starts_with("#!") {
            return Err(malformed(MalformedReason::AboveShebang));
        }
        let envelope = Envelope::parse_line(line, style).map_err(malformed)?;
        Ok(Self { text, style, layout, envelope, is_detached: false })
    }

    /// The id of the key that the line names, with 16 or 64 digits as in the line.
    pub fn key_id(&self) -> &KeyId {
        &self.envelope.key_id
    }

    /// The time that the signature line states.
    pub fn stated_time(&self) -> Timestamp {
        self.envelope.at
    }

    /// The `provider@user` that the signature line states. The signature does not cover it.
    pub fn claimed_owner(&self) -> Option<&str> {
        self.envelope.claimed_owner.as_deref()
    }

    /// Verifies the text under the name of the item. The value of the result is the whole text with its signature line,
    /// so that spans index the file.
    ///
    /// # Errors
    ///
    /// The checks are made in this order:
    ///
    /// 1. The text was tampered with.
    /// 2. The key is unknown.
    /// 3. The signature is bad or bound to another item.
    /// 4. The key is revoked or expired.
    /// 5. The signature does not cover the body, or the policy denies its old form.
    pub fn verify(
        self,
        item: &ItemName,
        trust: &TrustStore,
        policy: &Policy,
        now: Timestamp,
    ) -> Result<Verified<&'a str>, Error> {
        let coverage = self.coverage(item.kind())?;
        let signer = self.signer(trust)?;
        let bound_to = self.bound_to(signer, item, coverage)?;
        self.finish(signer, coverage, bound_to, policy, now)
    }

    /// Verifies a file outside an `.ai` folder, of which only the kind is known (SPEC 2.11).
    ///
    /// A signature that binds an id verifies only if the text itself declares that id; see [`Signature::item`].
    ///
    /// # Errors
    ///
    /// The ones of [`verify`](Self::verify). [`Error::IdUnchecked`] if the text does not declare the name that the
    /// signature binds. [`Error::UnknownKind`] if items of the kind cannot be signed.
    pub fn verify_detached_name(
        self,
        kind: &str,
        trust: &TrustStore,
        policy: &Policy,
        now: Timestamp,
    ) -> Result<Verified<&'a str>, Error> {
        let kind = known_kind(kind).map_err(|_| Error::UnknownKind { kind: kind.to_owned() })?;
        let coverage = self.coverage(kind)?;
        let signer = self.signer(trust)?;
        let declared = self.declared_name(signer, kind, None).filter(|item| item.kind() == kind);
        let bound_to = match declared {
            Some(item) => self.bound_to(signer, &item, coverage)?,
            None if message::is_content_only(signer.key(), &self.envelope) => None,
            None => return Err(Error::IdUnchecked { key_id: self.envelope.key_id }),
        };
        self.finish(signer, coverage, bound_to, policy, now)
    }

    /// Returns the draft that this text is: `own`, a trusted key in good standing, signed another text under this name, and
    /// only the content differs. `None` for any other text (SPEC D20).
    pub fn draft(
        &self,
        item: &ItemName,
        own: &PublicKey,
        trust: &TrustStore,
        now: Timestamp,
    ) -> Option<Draft<'a>> {
        let signer = trust.find(own.key_id()).filter(|signer| signer.key() == own)?;
        let is_own = own.is_named(&self.envelope.key_id) && signer.check_standing(now).is_ok();
        let is_changed = self.whole_digest() != self.envelope.digest;
        if !is_own || !is_changed || !message::is_bound(own, &self.envelope, item) {
            return None;
        }
        let is_from_the_future = self.envelope.at > now;
        let signature = Signature {
            key_id: own.key_id().clone(),
            owner: signer.owner().map(str::to_owned),
            grants: signer.grants().to_vec(),
            at: self.envelope.at,
            coverage: Coverage::Whole,
            binding: Binding::Bound,
            item: Some(item.clone()),
            notes: notes(Coverage::Whole, Binding::Bound, is_from_the_future),
        };
        Some(Draft { text: self.text, signature })
    }

    /// Returns `true` if the text has the digest that its signature line states.
    pub fn is_as_stated(&self) -> bool {
        self.whole_digest() == self.envelope.digest
    }

    /// Finds the part of the text whose digest the signature line states (SPEC 2.3).
    fn coverage(&self, kind: &str) -> Result<Coverage, Error> {
        let rest = self.layout.rest;
        let expected = self.envelope.digest;
        let actual = self.whole_digest();
        let is_directive = kind == "directive" && self.style == CommentStyle::Html;
        if actual == expected {
            Ok(Coverage::Whole)
        } else if is_directive
            && directive_slice(rest).is_some_and(|slice| Digest::of_parts(&[slice]) == expected)
        {
            Ok(Coverage::MetadataOnly)
        } else if kind == "tool"
            && self.layout.has_shebang()
            && Digest::of_parts(&[rest]) == expected
        {
            Ok(Coverage::AfterShebang)
        } else {
            Err(Error::Tampered { expected, actual })
        }
    }

    fn whole_digest(&self) -> Digest {
        Digest::of_parts(&[self.layout.head, self.layout.rest])
    }

    fn signer<'t>(&self, trust: &'t TrustStore) -> Result<&'t TrustedKey, Error> {
        let key_id = &self.envelope.key_id;
        let unknown = || Error::UnknownKey {
            key_id: key_id.clone(),
            trusted: trust.key_ids(),
            is_carried: trust.is_carried(key_id),
        };
        trust.find(key_id).ok_or_else(unknown)
    }

    /// Returns the name that the signature binds, or `None` for a signature of the old form.
    fn bound_to(
        &self,
        signer: &TrustedKey,
        item: &ItemName,
        coverage: Coverage,
    ) -> Result<Option<ItemName>, Error> {
        if message::is_bound(signer.key(), &self.envelope, item) {
            // A bound signature always covers the whole text. If only a part matches, other text was put around that
            // part.
            return match coverage {
                Coverage::Whole => Ok(Some(item.clone())),
                Coverage::AfterShebang | Coverage::MetadataOnly => Err(Error::Tampered {
                    expected: self.envelope.digest,
                    actual: self.whole_digest(),
                }),
            };
        }
        if !self.is_detached && message::is_content_only(signer.key(), &self.envelope) {
            return Ok(None);
        }
        let item = item.clone();
        Err(match self.declared_name(signer, item.kind(), Some(item.id())) {
            Some(signed_as) => Error::BoundElsewhere { item, signed_as },
            None => Error::BadSignature { key_id: self.envelope.key_id.clone(), item },
        })
    }

    fn declared_name(&self, signer: &TrustedKey, kind: &str, id: Option<&str>) -> Option<ItemName> {
        let candidates = candidates(self.layout.rest, kind, id);
        candidates.into_iter().find(|item| message::is_bound(signer.key(), &self.envelope, item))
    }

    fn finish(
        self,
        signer: &TrustedKey,
        coverage: Coverage,
        bound_to: Option<ItemName>,
        policy: &Policy,
        now: Timestamp,
    ) -> Result<Verified<&'a str>, Error> {
        let binding = if bound_to.is_some() { Binding::Bound } else { Binding::ContentOnly };
        signer.check_standing(now)?;
        policy.check(coverage, binding, signer.key().key_id())?;
        let signature = Signature {
            key_id: signer.key().key_id().clone(),
            owner: signer.owner().map(str::to_owned),
            grants: signer.grants().to_vec(),
            at: self.envelope.at,
            coverage,
            binding,
            item: bound_to,
            notes: notes(coverage, binding, self.envelope.at > now),
        };
        Ok(Verified::new(self.text, Provenance::Signed(signature)))
    }
}

fn notes(coverage: Coverage, binding: Binding, is_from_the_future: bool) -> Vec<Note> {
    let of_coverage = match coverage {
        Coverage::AfterShebang => Some(Note::AfterShebang),
        Coverage::MetadataOnly => Some(Note::MetadataOnly),
        Coverage::Whole => None,
    };
    let of_binding = (binding == Binding::ContentOnly).then_some(Note::ContentOnly);
    let of_time = is_from_the_future.then_some(Note::FromTheFuture);
    [of_coverage, of_binding, of_time].into_iter().flatten().collect()
}

/// Returns the part of a directive that old signatures cover.
fn directive_slice(rest: &str) -> Option<&str> {
    const END: &str = "</directive>";
    let start = rest.find("<directive")?;
    let end = rest.rfind(END)? + END.len();
    rest.get(start..end)
}
