//! The grammar of filter expressions.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::Filter;
use super::error::FilterFault;
use super::token::{Fault, Literal, Operator, Token, tokens};

/// What an expression says, before its members are looked up.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Syntax {
    Compare { left: Operand, operator: Operator, right: Operand },
    Between { value: Operand, low: Operand, high: Operand },
    Not(Box<Syntax>),
    All(Vec<Syntax>),
    Any(Vec<Syntax>),
}

/// One side of a predicate and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Operand {
    pub(super) at: usize,
    pub(super) term: Term,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Term {
    Member(Vec<Step>),
    Literal(Literal),
    Parameter(usize),
}

/// A part of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Name(String),
    Index(u32),
}

/// A path as it was written.
pub(super) fn shown(steps: &[Step]) -> String {
    let mut shown = String::new();
    for step in steps {
        match step {
            Step::Name(name) if shown.is_empty() => shown.push_str(name),
            Step::Name(name) => {
                shown.push('.');
                shown.push_str(name);
            }
            Step::Index(index) => shown.push_str(&format!("[{index}]")),
        }
    }
    shown
}

/// Reads an expression.
pub(super) fn parse(expression: &str) -> Result<Syntax, Fault> {
    if expression.len() > Filter::EXPRESSION_BYTES_MAX {
        return Err((0, FilterFault::TooLong { bytes: expression.len() }));
    }
    let tokens = tokens(expression)?;
    let mut parser = Parser { tokens: &tokens, next: 0, depth: 0 };
    let syntax = parser.condition()?;
    if *parser.peek() == Token::End { Ok(syntax) } else { Err(parser.unexpected("AND, OR or the end")) }
}

struct Parser<'a> {
    tokens: &'a [(usize, Token)],
    next: usize,
    depth: u32,
}

impl Parser<'_> {
    fn peek(&self) -> &Token {
        self.tokens.get(self.next).map_or(&Token::End, |(_, token)| token)
    }

    fn position(&self) -> usize {
        self.tokens.get(self.next).map_or(0, |(at, _)| *at)
    }

    fn take(&mut self, token: &Token) -> bool {
        let is_there = self.peek() == token;
        self.next += usize::from(is_there);
        is_there
    }

    fn expect(&mut self, token: &Token, expected: &'static str) -> Result<(), Fault> {
        if self.take(token) { Ok(()) } else { Err(self.unexpected(expected)) }
    }

    fn unexpected(&self, expected: &'static str) -> Fault {
        (self.position(), FilterFault::Unexpected { found: self.peek().shown(), expected })
    }

    fn condition(&mut self) -> Result<Syntax, Fault> {
        self.list(&Token::Or, Syntax::Any, |parser| parser.list(&Token::And, Syntax::All, Self::factor))
    }

    /// One or more parts, with the word between them.
    fn list(
        &mut self,
        between: &Token,
        join: fn(Vec<Syntax>) -> Syntax,
        part: impl Fn(&mut Self) -> Result<Syntax, Fault>,
    ) -> Result<Syntax, Fault> {
        let first = part(self)?;
        if self.peek() != between {
            return Ok(first);
        }
        let mut parts = Vec::from([first]);
        while self.take(between) {
            parts.push(part(self)?);
        }
        Ok(join(parts))
    }

    fn factor(&mut self) -> Result<Syntax, Fault> {
        let is_not = *self.peek() == Token::Not;
        if !is_not && *self.peek() != Token::Open {
            return self.predicate();
        }
        if self.depth >= Filter::NESTING_MAX {
            return Err((self.position(), FilterFault::TooDeep));
        }
        self.depth += 1;
        self.next += 1;
        let inner = if is_not { Syntax::Not(Box::new(self.factor()?)) } else { self.condition()? };
        if !is_not {
            self.expect(&Token::Close, "AND, OR or \")\"")?;
        }
        self.depth -= 1;
        Ok(inner)
    }

    fn predicate(&mut self) -> Result<Syntax, Fault> {
        let left = self.operand()?;
        let is_not = self.take(&Token::Not);
        let syntax = match self.peek() {
            Token::Between => {
                self.next += 1;
                let low = self.operand()?;
                self.expect(&Token::And, "AND between the two ends")?;
                Syntax::Between { value: left, low, high: self.operand()? }
            }
            Token::Operator(operator) if !is_not || *operator == Operator::Like => {
                let operator = *operator;
                self.next += 1;
                Syntax::Compare { left, operator, right: self.operand()? }
            }
            _ if is_not => return Err(self.unexpected("BETWEEN or LIKE")),
            _ => return Err(self.unexpected(COMPARISONS)),
        };
        Ok(if is_not { Syntax::Not(Box::new(syntax)) } else { syntax })
    }

    fn operand(&mut self) -> Result<Operand, Fault> {
        let at = self.position();
        let term = match self.peek().clone() {
            Token::Literal(literal) => Term::Literal(literal),
            Token::Parameter(index) => Term::Parameter(index),
            Token::Name(name) => {
                self.next += 1;
                return Ok(Operand { at, term: Term::Member(self.path(name)?) });
            }
            _ => return Err(self.unexpected("a member, a number, text in single quotes or a parameter")),
        };
        self.next += 1;
        Ok(Operand { at, term })
    }

    fn path(&mut self, first: String) -> Result<Vec<Step>, Fault> {
        let mut steps = Vec::from([Step::Name(first)]);
        loop {
            if self.take(&Token::Dot) {
                let Token::Name(name) = self.peek().clone() else {
                    return Err(self.unexpected("a member's name"));
                };
                steps.push(Step::Name(name));
                self.next += 1;
            } else if self.take(&Token::OpenIndex) {
                let Token::Literal(Literal::Integer(index)) = *self.peek() else {
                    return Err(self.unexpected("an element's number, from 0"));
                };
                let index =
                    u32::try_from(index).map_err(|_| self.unexpected("an element's number, from 0"))?;
                steps.push(Step::Index(index));
                self.next += 1;
                self.expect(&Token::CloseIndex, "\"]\"")?;
            } else {
                return Ok(steps);
            }
        }
    }
}

const COMPARISONS: &str = "=, <>, <, <=, >, >=, LIKE or BETWEEN";
