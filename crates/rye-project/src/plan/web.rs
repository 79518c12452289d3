//! Tools that reach other machines: what of a manifest becomes which request (SPEC 5.1, 5.5).

use std::sync::Arc;

use rye_parse::{Executor, ToolManifest};
use rye_resolve::Config;
use rye_web::{FETCH, HttpBody, HttpTool, Web, WebRules, fetch};
use serde_json::Value;

use super::backend::{Backend, parameters, template};
use super::error::PrepareError;
use crate::config::{WEB_FILE, web_rules};
use crate::project::Project;

/// The client for requests of tools, with its configuration.
pub(crate) struct Reach {
    pub(crate) web: Option<Arc<Web>>,
    pub(crate) config: Option<Config>,
}

/// Reads which hosts may be reached; nothing is sent.
pub(crate) fn reach(project: &Project) -> Result<Reach, PrepareError> {
    let config = project.library.config(WEB_FILE)?;
    let rules = web_rules(config.as_ref())?;
    let web = project.names.clone().map(|names| {
        Arc::new(Web::new(rules).with_names(names).with_variables(project.variables.clone()))
    });
    Ok(Reach { web, config })
}

/// The tool of a manifest that reaches the web, or why it is not offered; `None` for every other manifest.
pub(crate) fn http_backend(
    manifest: &ToolManifest,
    web: Option<&Arc<Web>>,
) -> Option<Result<Backend, String>> {
    let is_fetch = match &manifest.executor {
        Executor::Builtin { function, .. } if function == FETCH => true,
        Executor::Http { .. } => false,
        _ => return None,
    };
    let Some(web) = web else {
        return Some(Err("this program reaches no other machine".to_owned()));
    };
    if is_fetch {
        let tool = fetch(web);
        let effect = rye_types::Effect::ReadOnly;
        return Some(Ok(Backend::of_web(tool, effect)));
    }
    Some(request(manifest).and_then(|request| {
        let effect = request.effect();
        let tool = request.tool(web).map_err(|error| error.to_string())?;
        Ok(Backend::of_web(tool, effect))
    }))
}

/// The request of a manifest with `executor: http`, or why it is none.
pub(crate) fn request(manifest: &ToolManifest) -> Result<HttpTool, String> {
    let Executor::Http { url, method, headers, body, credential, timeout_seconds, .. } =
        &manifest.executor
    else {
        return Err("its executor is no request".to_owned());
    };
    let parameters = parameters(&manifest.input_schema);
    let mut request = HttpTool::new(method, template(url, &parameters)?);
    let header =
        |(name, text): (&String, &String)| Ok((name.clone(), template(text, &parameters)?));
    request.headers = headers.iter().map(header).collect::<Result<_, String>>()?;
    request.body = body.as_ref().map(|body| template_body(body, &parameters)).transpose()?;
    request.credential.clone_from(credential);
    request.timeout_seconds = *timeout_seconds;
    request.parameters = parameters;
    Ok(request)
}

/// The body with places in its texts; names of members have none.
fn template_body(body: &Value, parameters: &[String]) -> Result<HttpBody, String> {
    Ok(match body {
        Value::String(text) => HttpBody::Text(template(text, parameters)?),
        Value::Array(all) => HttpBody::List(
            all.iter().map(|one| template_body(one, parameters)).collect::<Result<_, _>>()?,
        ),
        Value::Object(all) => {
            let member = |(name, one): (&String, &Value)| {
                Ok((name.clone(), template_body(one, parameters)?))
            };
            HttpBody::Object(all.iter().map(member).collect::<Result<_, String>>()?)
        }
        plain => HttpBody::Plain(plain.clone()),
    })
}

impl Project {
    /// Returns the rules for hosts that tools may reach, or `None` for a host program that reaches
    /// none.
    ///
    /// # Errors
    ///
    /// When the configuration of it is refused.
    pub fn web_rules(&self) -> Result<Option<WebRules>, PrepareError> {
        Ok(reach(self)?.web.map(|web| web.rules().clone()))
    }
}
