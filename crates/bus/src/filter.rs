//! Which samples a subscriber wants, by an expression on their members.

use std::sync::Arc;

use rtps::filter::Filter;
use rtps::types::StructType;

use crate::config::EndpointRequest;
use crate::{CreateError, EndpointBuilder, FilterError, Subscriber, UntypedSubscriber};

/// An expression and its parameters; see [`rtps::filter`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FilterRequest {
    /// The expression.
    pub expression: String,
    /// What `%0`, `%1` and so on stand for.
    pub parameters: Vec<String>,
}

impl FilterRequest {
    fn new<P: AsRef<str>>(expression: &str, parameters: &[P]) -> Self {
        let parameters = parameters.iter().map(|parameter| parameter.as_ref().to_string()).collect();
        Self { expression: expression.to_string(), parameters }
    }

    fn compile(&self, structure: &Arc<StructType>) -> Result<Filter, FilterError> {
        Filter::new(structure, &self.expression, &self.parameters)
    }
}

/// The filter of a subscriber of this type, of which `None` is known by name only.
pub(crate) fn requested(
    request: &EndpointRequest,
    structure: impl FnOnce() -> Option<Arc<StructType>>,
) -> Result<Option<Filter>, CreateError> {
    let Some(filter) = &request.filter else { return Ok(None) };
    let topic = || request.topic.clone();
    let structure = structure().ok_or_else(|| CreateError::FilterUntyped { topic: topic() })?;
    filter
        .compile(&structure)
        .map(Some)
        .map_err(|source| CreateError::Filter { topic: topic(), source: Box::new(source) })
}

impl<T: crate::DdsType + 'static> EndpointBuilder<'_, Subscriber<T>> {
    /// Hands out only samples that meet an expression in the SQL subset of DDS, which [`rtps::filter`] describes:
    /// `filter("power_watts > %0 AND host LIKE 'rack%'", &["250"])`. Replaces an earlier one; by default there is none.
    ///
    /// The others still travel. They take no room in the history, are counted by [`Subscriber::filtered`], and cost
    /// reading their members up to the last one named, on the thread that receives them. Ends of instances are handed
    /// out always. [`EndpointBuilder::build`] tells what is wrong with an expression, and where.
    pub fn filter<P: AsRef<str>>(mut self, expression: &str, parameters: &[P]) -> Self {
        self.filter = Some(FilterRequest::new(expression, parameters));
        self
    }
}

impl EndpointBuilder<'_, UntypedSubscriber> {
    /// Hands out only samples that meet an expression, as for a [`Subscriber`]. Needs the type's description, which a
    /// raw subscriber does not have.
    pub fn filter<P: AsRef<str>>(mut self, expression: &str, parameters: &[P]) -> Self {
        self.filter = Some(FilterRequest::new(expression, parameters));
        self
    }
}

impl<T: crate::DdsType> Subscriber<T> {
    /// Hands out only samples that meet this expression from now on, as if it had been built with it; what has arrived
    /// already stays. On an error nothing changes.
    ///
    /// # Errors
    /// When the expression is none on `T`.
    pub fn set_filter<P: AsRef<str>>(&self, expression: &str, parameters: &[P]) -> Result<(), FilterError> {
        let filter = Filter::new(&T::structure(), expression, parameters)?;
        self.endpoint.set_filter(Some(filter));
        Ok(())
    }

    /// Hands out all samples from now on.
    pub fn clear_filter(&self) {
        self.endpoint.set_filter(None);
    }

    /// Samples that arrived and were not handed out, because they did not meet the filter.
    pub fn filtered(&self) -> u64 {
        self.endpoint.filtered()
    }
}

impl UntypedSubscriber {
    /// Samples that arrived and were not handed out, because they did not meet the filter.
    pub fn filtered(&self) -> u64 {
        self.endpoint.filtered()
    }
}
