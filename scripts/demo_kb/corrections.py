"""What we correct in the sources, and why; and what of them we choose. As of 2026."""

# Countries are the members of the United Nations, and these; dependent territories are left out.
BESIDES_UN = ["VA", "PS", "TW", "XK"]

# The names most English readers use, where GeoNames has another form.
COUNTRY_NAMES = {
    "CV": "Cape Verde",
    "NL": "Netherlands",
    "PS": "Palestine",
    "ST": "São Tomé and Príncipe",
    "TL": "Timor-Leste",
    "VA": "Vatican City",
}
CITY_NAMES = {
    ("BE", "Gent"): "Ghent",
    ("CA", "Montréal"): "Montreal",
    ("CA", "Québec"): "Quebec City",
    ("DE", "Frankfurt am Main"): "Frankfurt",
    ("DE", "Hannover"): "Hanover",
    ("DE", "Köln"): "Cologne",
    ("DK", "Århus"): "Aarhus",
    ("ES", "Gasteiz / Vitoria"): "Vitoria-Gasteiz",
    ("ES", "Sevilla"): "Seville",
    ("MM", "Nay Pyi Taw"): "Naypyidaw",
    ("MN", "Ulan Bator"): "Ulaanbaatar",
    ("MV", "Male"): "Malé",
    ("MX", "León de los Aldama"): "León",
    ("MX", "Santiago de Querétaro"): "Querétaro",
    ("RU", "Nizhniy Novgorod"): "Nizhny Novgorod",
    ("SA", "Madinah"): "Medina",
    ("SA", "Makkah"): "Mecca",
    ("US", "Washington"): "Washington, D.C.",
    ("VU", "Port-Vila"): "Port Vila",
}
DIVISION_NAMES: dict[tuple[str, str], str | None] = {
    ("MX", "México"): "State of Mexico",
    ("AR", "Cordoba"): "Córdoba",
    ("AR", "Buenos Aires F.D."): None,  # the capital itself
    ("BE", "Brussels Capital"): "Brussels-Capital Region",
    ("BR", "Federal District"): None,
    ("DE", "City state Bremen"): "Bremen",
    ("DE", "Rheinland-Pfalz"): "Rhineland-Palatinate",
    ("DE", "State of Berlin"): None,
    ("ES", "Castille and León"): "Castile and León",
    ("FR", "Centre"): "Centre-Val de Loire",
    ("PL", "Kujawsko-Pomorskie"): "Kuyavia-Pomerania",
    ("RU", "Tatarstan Republic"): "Tatarstan",
    ("RU", "Udmurtiya Republic"): "Udmurtia",
    ("UA", "Kharkivs’ka Oblast’"): "Kharkiv Oblast",
    ("UA", "Kiev"): "Kyiv Oblast",
    ("UA", "Kyiv City"): None,
    ("VE", "Distrito Federal"): None,
    ("ZA", "North West"): "North West Province",
    ("US", "New York"): "New York (US state)",
    ("US", "Washington"): "Washington (US state)",
}
LANGUAGE_NAMES = {
    "crs": "Seychellois Creole",
    "ilo": "Ilocano",
    "lg": "Luganda",
    "na": "Nauruan",
    "rn": "Kirundi",
    "tvl": "Tuvaluan",
    "zgh": "Moroccan Tamazight",
}
SCRIPT_NAMES = {"Hans": "Chinese characters", "Hant": "Chinese characters"}  # one script, two ways to write it
CURRENCY_NAMES = {
    "CSK": "Czechoslovak Koruna",
    "GYD": "Guyanese Dollar",
    "KGS": "Kyrgyzstani Som",
    "SUR": "Soviet Ruble",
}

# None: a city state, or a capital that is disputed. The others: GeoNames' name is that of the atoll, or outdated.
CAPITALS = {"VA": None, "PS": None, "PW": "Ngerulmud", "LK": "Sri Jayewardenepura Kotte"}

# Languages that CLDR calls official and the constitution does not (or no longer does): spoken, not official.
NOT_OFFICIAL = {
    ("BF", "fr"), ("CH", "gsw"), ("DZ", "fr"), ("EC", "qu"), ("IL", "ar"), ("LI", "gsw"), ("MA", "fr"), ("ME", "sr"),
    ("MG", "en"), ("ML", "fr"), ("NE", "fr"), ("NG", "yo"), ("SN", "wo"), ("TN", "fr"), ("TW", "hak"), ("TW", "nan"),
    ("UA", "ru"),
}  # fmt: skip
ALSO_OFFICIAL = {
    "BF": ["mos"],
    "IQ": ["ku"],
    "MK": ["sq"],
    "ML": ["bm"],
    "RW": ["sw"],
    "SC": ["crs"],
    "VA": ["la"],
    "ZA": ["af", "nr", "nso", "ss", "st", "tn", "ts", "ve", "xh", "zu"],
}
# Norwegian in both written forms, the Comorian of the islands, the Tamazight that Morocco made official.
ONE_LANGUAGE = {"nb": "no", "nn": "no", "wni": "swb", "zdj": "swb", "tzm": "zgh"}
LEARNT_AT_SCHOOL = {("DK", "de")}  # and English and French everywhere: widely known, hardly anybody's mother tongue

# Bulgaria joined the euro in 2026; US dollars circulate in Haiti without being legal tender.
JOINED_EURO = {"BG": "BGN"}
NOT_TENDER = {("HT", "USD")}
# The Timorese escudo ended in 1976, not 2002; the "hard lev" is the lev before a redenomination.
NO_FORMER_CURRENCY = {"TPE", "BGL"}

# Zones whose clock is not the one CLDR's name stands for (no daylight saving, or moved since), or is disputed.
ODD_ZONES = {"Africa/Casablanca", "Africa/El_Aaiun", "Asia/Amman", "Asia/Damascus", "Europe/Volgograd"}
DISPUTED_ZONES = {"Europe/Simferopol"}

CLOSED_AIRPORTS = {"PNH", "REP"}  # replaced by new ones since the list was made

# Countries whose states or provinces have widely known names; these may have more cities, too.
DIVIDED = ["AR", "AT", "AU", "BE", "BR", "CA", "CH", "CN", "DE", "ES", "FR", "GB", "IN", "IT", "JP", "KR", "MX"]
DIVIDED += ["MY", "NL", "PK", "PL", "RU", "UA", "US", "VE", "ZA"]
FEW_CITIES, MANY_CITIES, MOST_CITIES = 8, 24, 60  # of a country; of one of these; of the United States
SMALLEST_CITY = 100_000  # inhabitants; capitals may be smaller
FEWEST_NAMES = 15  # in other languages and spellings: the places that many people have heard of have many
OWN_CITY = 0.2  # degrees: what is nearer to a better known city is a quarter or a suburb of it
DISPUTED_CITIES = {"East Jerusalem", "Gilgit", "Muzaffarabad", "Srinagar", "West Jerusalem"}

CONTINENTS = ["002", "003", "005", "009", "142", "150"]  # codes of UN M49
WORLD_REGIONS = [
    "011", "013", "014", "015", "017", "018", "021", "029", "030", "034", "035",
    "039", "053", "054", "057", "061", "143", "145", "151", "154", "155",
]  # fmt: skip
