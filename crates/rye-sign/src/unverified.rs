//! From a text with a signature line to a verified one.

use crate::comment::CommentStyle;
use crate::digest::Digest;
use crate::elsewhere::candidates;
use crate::envelope::{Envelope, MalformedReason};
use crate::error::Error;
use crate::item_name::{ItemName, known_kind};
use crate::key_id::KeyId;
use crate::layout::{Layout, Line};
use crate::message;
use crate::policy::Policy;
use crate::provenance::{Binding, Coverage, Note, Provenance, Signature};
use crate::timestamp::Timestamp;
use crate::trust::{TrustStore, TrustedKey};
use crate::verified::Verified;

/// A text whose signature line was found and read; nothing about it is believed yet.
#[derive(Debug, Clone)]
pub struct Unverified<'a> {
    text: &'a str,
    style: CommentStyle,
    layout: Layout<'a>,
    envelope: Envelope,
}

/// Verifies a text, or lets it pass without a signature when the policy says so and it has none (SPEC 2.10).
///
/// # Errors
///
/// The ones of [`Unverified::locate`] and [`Unverified::verify`]. A policy that allows unsigned text changes
/// [`Error::Unsigned`] alone.
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

impl<'a> Unverified<'a> {
    /// Finds and reads the signature line: line 1, or line 2 below a `#!` line. A further one below it is content.
    ///
    /// # Errors
    ///
    /// [`Error::Unsigned`] without a line or with a placeholder, [`Error::Malformed`] for one that cannot be read.
    pub fn locate(text: &'a str, style: CommentStyle) -> Result<Self, Error> {
        let layout = Layout::of(text);
        let Some(Line::Signed(line)) = layout.line else { return Err(Error::Unsigned) };
        let malformed = |reason| Error::Malformed { line: layout.line_number(), reason };
        if !layout.has_shebang() && layout.rest.starts_with("#!") {
            return Err(malformed(MalformedReason::AboveShebang));
        }
        let envelope = Envelope::parse_line(line, style).map_err(malformed)?;
        Ok(Self { text, style, layout, envelope })
    }

    /// The key that the line names, in the notation that it uses.
    pub fn key_id(&self) -> &KeyId {
        &self.envelope.key_id
    }

    /// The time that the line states.
    pub fn stated_time(&self) -> Timestamp {
        self.envelope.at
    }

    /// The `provider@user` that the line states. Nothing signs it.
    pub fn claimed_owner(&self) -> Option<&str> {
        self.envelope.claimed_owner.as_deref()
    }

    /// Verifies the text as the item that it was found as; the value is the whole text with its signature line, so
    /// that spans index the file.
    ///
    /// # Errors
    ///
    /// In this order: tampered, unknown key, bad signature or bound to another item, revoked or expired key, not
    /// covered, or a form that the policy denies.
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

    /// Verifies a file that is outside a tree, of which only the kind is known (SPEC 2.11).
    ///
    /// A bound signature verifies when the text itself declares the name that was signed; see [`Signature::item`].
    ///
    /// # Errors
    ///
    /// The ones of [`verify`](Self::verify), and [`Error::IdUnchecked`] for a signature that binds a name unknown here.
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

    /// Which part of the text has the digest in the line (SPEC 2.3).
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
        let unknown = || Error::UnknownKey { key_id: key_id.clone(), trusted: trust.key_ids() };
        trust.find(key_id).ok_or_else(unknown)
    }

    /// The name that the signature binds, or none for the old forms.
    fn bound_to(
        &self,
        signer: &TrustedKey,
        item: &ItemName,
        coverage: Coverage,
    ) -> Result<Option<ItemName>, Error> {
        if message::is_bound(signer.key(), &self.envelope, item) {
            // A new signature covers the whole text, so a partial match means that text was put around the part.
            return match coverage {
                Coverage::Whole => Ok(Some(item.clone())),
                Coverage::AfterShebang | Coverage::MetadataOnly => Err(Error::Tampered {
                    expected: self.envelope.digest,
                    actual: self.whole_digest(),
                }),
            };
        }
        if message::is_content_only(signer.key(), &self.envelope) {
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

/// What old signatures of directives cover.
fn directive_slice(rest: &str) -> Option<&str> {
    const END: &str = "</directive>";
    let start = rest.find("<directive")?;
    let end = rest.rfind(END)? + END.len();
    rest.get(start..end)
}
