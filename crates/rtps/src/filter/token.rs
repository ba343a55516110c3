//! The words of a filter expression.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::error::FilterFault;

/// A fault and the octet at which it is.
pub(super) type Fault = (usize, FilterFault);

/// How two operands are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Equal,
    Different,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Like,
}

/// A value that stands in the expression, or that a parameter holds.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Literal {
    Integer(i128),
    Float(f64),
    Text(String),
    Bool(bool),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    And,
    Or,
    Not,
    Between,
    Operator(Operator),
    Open,
    Close,
    OpenIndex,
    CloseIndex,
    Dot,
    Name(String),
    Literal(Literal),
    Parameter(usize),
    End,
}

impl Token {
    /// As a message shows it.
    pub(super) fn shown(&self) -> String {
        match self {
            Self::And => "AND".into(),
            Self::Or => "OR".into(),
            Self::Not => "NOT".into(),
            Self::Between => "BETWEEN".into(),
            Self::Operator(_) => "a comparison".into(),
            Self::Open => "\"(\"".into(),
            Self::Close => "\")\"".into(),
            Self::OpenIndex => "\"[\"".into(),
            Self::CloseIndex => "\"]\"".into(),
            Self::Dot => "\".\"".into(),
            Self::Name(name) => format!("the name {name:?}"),
            Self::Literal(literal) => literal.shown(),
            Self::Parameter(index) => format!("%{index}"),
            Self::End => "the end".into(),
        }
    }
}

impl Literal {
    /// As a message shows it.
    pub(super) fn shown(&self) -> String {
        match self {
            Self::Integer(number) => format!("the number {number}"),
            Self::Float(number) => format!("the number {number}"),
            Self::Text(text) => format!("the text '{text}'"),
            Self::Bool(value) => if *value { "TRUE" } else { "FALSE" }.into(),
        }
    }

    /// The number that a whole text is; hexadecimal after `0x`.
    pub(super) fn number(text: &str) -> Option<Self> {
        let (sign, digits) = match text.strip_prefix('-') {
            Some(digits) => (-1, digits),
            None => (1, text.strip_prefix('+').unwrap_or(text)),
        };
        if let Some(digits) = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
            let is_plain = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
            return u64::from_str_radix(digits, 16)
                .ok()
                .filter(|_| is_plain)
                .map(|number| Self::Integer(sign * i128::from(number)));
        }
        if !digits.starts_with(|first: char| first.is_ascii_digit() || first == '.') {
            return None;
        }
        match digits.parse::<i128>() {
            Ok(number) => Some(Self::Integer(sign * number)),
            Err(_) => text.parse().ok().filter(|number: &f64| number.is_finite()).map(Self::Float),
        }
    }

    /// A whole text in quotes, or `TRUE` or `FALSE`, or a number.
    pub(super) fn of_parameter(text: &str) -> Option<Self> {
        match tokens(text) {
            Ok(tokens) => match tokens.as_slice() {
                [(_, Token::Literal(literal)), (_, Token::End)] => Some(literal.clone()),
                _ => None,
            },
            Err(_) => None,
        }
    }
}

/// The tokens of an expression, each with its position, the last of which is [`Token::End`].
pub(super) fn tokens(text: &str) -> Result<Vec<(usize, Token)>, Fault> {
    let mut scanner = Scanner { text, position: 0 };
    let mut found = Vec::new();
    loop {
        scanner.take_while(char::is_whitespace);
        let at = scanner.position;
        let token = scanner.next()?;
        let is_last = token == Token::End;
        found.push((at, token));
        if is_last {
            return Ok(found);
        }
    }
}

struct Scanner<'a> {
    text: &'a str,
    position: usize,
}

impl<'a> Scanner<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.position..).unwrap_or("")
    }

    fn take_while(&mut self, is_wanted: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let length = rest.find(|letter| !is_wanted(letter)).unwrap_or(rest.len());
        self.position += length;
        rest.get(..length).unwrap_or("")
    }

    fn take(&mut self, word: &str) -> bool {
        let is_there = self.rest().starts_with(word);
        if is_there {
            self.position += word.len();
        }
        is_there
    }

    fn next(&mut self) -> Result<Token, Fault> {
        let mut letters = self.rest().chars();
        let Some(first) = letters.next() else { return Ok(Token::End) };
        let second = letters.next();
        let starts_number = |letter: Option<char>| letter.is_some_and(|letter| letter.is_ascii_digit());
        if first.is_ascii_digit() || (matches!(first, '+' | '-' | '.') && starts_number(second)) {
            return self.number();
        }
        if matches!(first, '+' | '-') && second == Some('.') {
            return self.number();
        }
        match first {
            '\'' | '`' => self.quoted(),
            '%' => self.parameter(),
            _ if is_name_start(first) => {
                let name = self.take_while(|letter| is_name_start(letter) || letter.is_ascii_digit());
                Ok(word(name))
            }
            _ => self.sign(first),
        }
    }

    fn sign(&mut self, first: char) -> Result<Token, Fault> {
        let signs = [
            ("<>", Token::Operator(Operator::Different)),
            ("!=", Token::Operator(Operator::Different)),
            ("<=", Token::Operator(Operator::LessOrEqual)),
            (">=", Token::Operator(Operator::GreaterOrEqual)),
            ("<", Token::Operator(Operator::Less)),
            (">", Token::Operator(Operator::Greater)),
            ("==", Token::Operator(Operator::Equal)),
            ("=", Token::Operator(Operator::Equal)),
            ("(", Token::Open),
            (")", Token::Close),
            ("[", Token::OpenIndex),
            ("]", Token::CloseIndex),
            (".", Token::Dot),
        ];
        let found = signs.into_iter().find(|(sign, _)| self.take(sign));
        let fault = || FilterFault::Unexpected { found: format!("{first:?}"), expected: EXPECTED_ANYWHERE };
        found.map(|(_, token)| token).ok_or_else(|| (self.position, fault()))
    }

    fn number(&mut self) -> Result<Token, Fault> {
        let at = self.position;
        let start = self.rest();
        self.take_while(|letter| matches!(letter, '+' | '-'));
        loop {
            let part = self.take_while(|letter| letter.is_ascii_alphanumeric() || letter == '.');
            // An exponent's sign belongs to the number, except in hexadecimal ones.
            let is_exponent =
                part.ends_with(['e', 'E']) && !part.starts_with("0x") && !part.starts_with("0X");
            if !is_exponent || !(self.take("+") || self.take("-")) {
                break;
            }
        }
        let text = start.get(..self.position - at).unwrap_or("");
        let fault = || (at, FilterFault::Number { text: text.to_string() });
        Literal::number(text).map(Token::Literal).ok_or_else(fault)
    }

    fn quoted(&mut self) -> Result<Token, Fault> {
        let at = self.position;
        self.position += 1;
        let mut text = String::new();
        loop {
            text.push_str(self.take_while(|letter| letter != '\''));
            if self.take("''") {
                text.push('\'');
            } else if self.take("'") {
                return Ok(Token::Literal(Literal::Text(text)));
            } else {
                return Err((at, FilterFault::Unclosed));
            }
        }
    }

    fn parameter(&mut self) -> Result<Token, Fault> {
        let at = self.position;
        self.position += 1;
        let digits = self.take_while(|letter| letter.is_ascii_digit());
        match digits.parse() {
            Ok(index) if digits.len() <= 2 => Ok(Token::Parameter(index)),
            _ => Err((at, FilterFault::ParameterName)),
        }
    }
}

fn is_name_start(letter: char) -> bool {
    letter == '_' || letter.is_alphabetic()
}

fn word(name: &str) -> Token {
    let words = [
        ("and", Token::And),
        ("or", Token::Or),
        ("not", Token::Not),
        ("between", Token::Between),
        ("like", Token::Operator(Operator::Like)),
        ("true", Token::Literal(Literal::Bool(true))),
        ("false", Token::Literal(Literal::Bool(false))),
    ];
    let found = words.into_iter().find(|(word, _)| name.eq_ignore_ascii_case(word));
    found.map_or_else(|| Token::Name(name.to_string()), |(_, token)| token)
}

const EXPECTED_ANYWHERE: &str =
    "a member, a value, a comparison or a bracket; text belongs between single quotes";
