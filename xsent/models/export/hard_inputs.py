"""Edge-case texts on which two implementations of one encoder are likely to differ."""

HARD_INPUTS = (
    "A cat sits on the mat.",
    "Die Katze sitzt auf der Matte, und niemand weiß, warum.",
    "قطة تجلس على السجادة.",  # right to left
    "חתול יושב על המחצלת.",
    "猫はマットの上に座っています。",
    "고양이가 매트 위에 앉아 있다.",
    "बिल्ली चटाई पर बैठी है।",
    "แมวนั่งอยู่บนเสื่อ",  # no spaces
    "Кошка sits на 매트 مع 猫.",  # many scripts
    "",
    " ",
    "\t \n",
    "\u3000\u2003",  # white space outside of ASCII
    "\u2028",
    "one line\u2028and another\u2029and a third\u0085and the last",
    "nothing\0between",
    "\0",
    "\ufeffa byte-order mark",
    "  space  before,   within and behind  ",
    "tab\tand\r\nline ends\n",
    "e\u0301 and \u00e9 are one letter, o\u0308\u0323 and o\u0323\u0308 too",  # combining marks
    "Z\u0351\u036b\u0343a\u0300\u0301\u0302\u0303l\u0334g\u0335o\u0336",
    "ＦＵＬＬ ｗｉｄｔｈ, ﬁne ligatures, x² and ½",
    "ΟΔΥΣΣΕΥΣ, İstanbul, STRASSE, Straße",  # lower-casing changes the number of letters
    "\u200bzero\u200dwidth\u200e and \u202eoverride\u202c",
    "👩‍👩‍👧‍👦 🏳️‍🌈 👍🏽 😀😀😀",
    "🦖",
    "𐍈𐍂𐌰",  # unknown to most vocabularies
    "known 𐍈 and unknown 𐍈𐍂 letters𐍈without space",
    "\ue000 private, \uffff no character at all",
    "▁ ▁▁ what SentencePiece marks words with",
    "▁",
    "<unk> [UNK] [CLS] [SEP] [PAD] [MASK] <s> </s> <pad> <mask>",  # looks like special tokens
    "<unk>",
    "Ünïcödé ÇÃÑ ßẞ œ Æ ĳ",
    "1,234.56 % 10⁻³ €/$ № 7",
    "!!! ??? ... --- ___ *** ((( )))",
    "https://example.org/a?b=c&d=%20#e @user #hash_tag a@b.co",
    "don't can't l'été d’accord „Gänsefüßchen“ «guillemets»",
    "word " * 2000,  # truncated
    "ein sehr langer Satz, " * 200 + "und hier endet er.",
    "x" * 100_000,
    "é" * 5000,
    "の" * 3000,
    " " * 5000 + "far to the right",
)
