//! Replies that cannot be used, and the requests that are made again for them.
//!
//! Such a reply does not become part of the history, because a provider need not accept it again.

use rye_types::Usage;

use super::{OutOfTurn, Phase, Run};
use crate::palette::palette_name;
use crate::{DIRECTIVE_RETURN, Message, ProviderErrorClass, Reply, StopReason};

/// The reason why a reply cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) class: ProviderErrorClass,
    /// A lowercase fragment that says what is wrong with the reply.
    pub(crate) message: String,
}

impl Run {
    /// Returns the reason why a reply to the present request cannot be used, if there is one.
    pub(crate) fn fault(&self, reply: &Reply) -> Option<Fault> {
        let (class, message) = match &reply.stop {
            StopReason::ContextWindow | StopReason::Refusal => return None,
            StopReason::MaxTokens if !reply.calls.is_empty() => {
                let message =
                    "the answer reached the most tokens that it may have in the middle of a call";
                (ProviderErrorClass::CutCall, message.to_owned())
            }
            StopReason::MaxTokens if reply.is_blank() => {
                let message =
                    "the answer reached the most tokens that it may have before it said anything";
                (ProviderErrorClass::CutCall, message.to_owned())
            }
            // A text that is cut is worth its price, and becomes part of the history.
            StopReason::MaxTokens => return None,
            StopReason::Other(word) => {
                let message =
                    format!("the model stopped for `{word}`, so its answer may not be whole");
                (ProviderErrorClass::Malformed, message)
            }
            _ => match unreadable_call(reply) {
                Some(message) => (ProviderErrorClass::Malformed, message),
                None if reply.calls.is_empty() && reply.stop == StopReason::ToolUse => {
                    let message = "the model stopped to call tools and its answer has no call";
                    (ProviderErrorClass::Malformed, message.to_owned())
                }
                None if reply.is_blank()
                    && reply.stop != StopReason::Pause
                    && !self.has_succeeded() =>
                {
                    (ProviderErrorClass::Empty, "the model answered with nothing".to_owned())
                }
                None => return None,
            },
        };
        Some(Fault { class, message })
    }

    /// Returns the number of the next attempt and the most attempts of the present request, after a reply with such a
    /// fault. `None` means that there is no further attempt.
    pub(crate) fn next_attempt(&self, class: ProviderErrorClass) -> Option<(u32, u32)> {
        let most = match class {
            ProviderErrorClass::CutCall | ProviderErrorClass::Malformed => 2,
            ProviderErrorClass::Empty => 1,
            _ => 0,
        };
        (self.unusable < most).then_some((self.unusable + 2, most + 1))
    }

    /// Takes a reply that cannot be used, so that the request is made again. It counts as no turn, and its
    /// tokens count. After an empty reply the history ends in a reminder.
    ///
    /// # Errors
    ///
    /// [`OutOfTurn`] if the run does not wait for a reply.
    pub(crate) fn ask_again(
        &mut self,
        class: ProviderErrorClass,
        usage: &Usage,
    ) -> Result<(), OutOfTurn> {
        let Phase::Asked = self.phase else { return Err(self.out_of_turn("an unusable reply")) };
        self.unusable += 1;
        self.usage = self.usage.plus(usage);
        if class == ProviderErrorClass::Empty {
            let task = if self.contract.requires_outputs() {
                let name = palette_name(DIRECTIVE_RETURN);
                format!("When it is done, call `{name}` with: {}.", self.contract)
            } else {
                "When it is done, say so in words.".to_owned()
            };
            let text = format!("Your last answer was empty. Carry out the directive. {task}");
            self.messages.push(Message::User { text });
        }
        Ok(())
    }

    /// Returns `true` if a call of the model has succeeded.
    fn has_succeeded(&self) -> bool {
        self.messages.iter().rev().any(|message| match message {
            Message::ToolResults { results } => results.iter().any(|result| !result.is_error),
            _ => false,
        })
    }
}

/// Returns the message about the first call whose arguments are not JSON, so that no provider need accept them again.
fn unreadable_call(reply: &Reply) -> Option<String> {
    reply.calls.iter().filter(|call| !call.is_too_deep()).find_map(|call| {
        let reason = call.arguments.as_ref().err()?;
        Some(format!("the call of `{}` cannot be read: {reason}", call.name))
    })
}
