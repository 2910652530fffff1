"""Words that carry no meaning of their own, by the name of the snowball algorithm of their language.

Articles, pronouns, prepositions, conjunctions, auxiliaries and question words. Negations are none: "is" and "is not"
must stay apart. Nor are words that are a noun or a month as well, such as "may".
"""

from collections.abc import Mapping
from typing import Final

ENGLISH: Final = """
    a about above after again all am an and any are as at be because been before being below between both
    but by can could did do does doing down during each few for from further had has have having he her here
    hers herself him himself his how i if in into is it its itself just let me more most my myself of off on
    once only or other our ours ourselves out over own same she should so some such than that the their theirs
    them themselves then there these they this those through to too under until up us very was we were what
    when where which while who whom why will with would you your yours yourself yourselves
"""

STOP_WORDS_OF: Final[Mapping[str, str]] = {
    "english": ENGLISH,
    "german": """
        ab aber alle allem allen aller alles als also am an auch auf aus bei beim bin bis bist da dabei dadurch dafür
        damit danach dann daran darauf das dass daß davon dazu dein deine dem den denn der des dich die dies diese
        diesem diesen dieser dieses dir doch dort du durch ein eine einem einen einer eines er es etwas euch euer eure
        für gegen gewesen habe haben hat hatte hatten hier hin hinter ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im in
        indem ins ist ja jede jedem jeden jeder jedes jener kann können könnte man manche mein meine mich mir mit muss
        nach noch nun nur ob oder sehr sein seine seinem seinen seiner seit sich sie sind so solche soll sollte sondern
        sonst über um und uns unser unsere unter viel vom von vor wann warum was weil welche welcher welches wenn wer
        werde werden wie wieder will wir wird wirst wo wurde wurden während würde zu zum zur zwischen
    """,
    "french": """
        à ai ainsi alors après as au aussi autre aux avait avant avec avez avoir avons c car ce ceci cela celle
        celles celui ces cet cette ceux chaque chez ci comme comment d dans de depuis des donc dont du elle elles en
        encore entre es est et étaient était étant été être eu eux fait il ils j je l la là laquelle le lequel les leur
        leurs lors lorsque lui m ma mais me même mes moi mon n nos notre nous on ont où ou par parce pendant peu peut
        plus pour pourquoi puis qu quand que quel quelle quelles quels qui quoi s sa se sera ses si son sont sous sur t
        ta te tes toi ton tous tout toute toutes très tu un une vers vos votre vous y
    """,
    "spanish": """
        a al algo algunas algunos ante antes aquel aquella aquí así aún aunque cada como cómo con contra cual cuál
        cuando cuándo de del desde donde dónde dos durante e el él ella ellas ellos en entre era eran eres es esa esas
        ese eso esos esta está están estaba estamos estar este esto estos estoy fue fueron ha había han has hasta hay he
        la las le les lo los más me mi mí mis mucho muy nos nosotros nuestra nuestro o os otra otro para pero poco por
        porque pues que qué quien quién se sea ser si sí sido sobre son soy su sus también tanto te tengo tiene tienen
        toda todas todo todos tu tú tus un una unas uno unos vosotros y ya yo
    """,
    "italian": """
        a ad agli ai al alla alle allo anche ancora avere aveva c che chi ci come con contro cosa cui d da dagli dai dal
        dalla dalle dallo degli dei del della delle dello di dove e è ed era erano essere fra gli ha hai hanno ho i il
        in io l la le lei li lo loro lui ma me mi mia mie mio molto ne negli nei nel nella nelle nello noi nostra nostro
        o ogni per perché però più poi qual quale quali quando quanto quella quelle quello questa queste questi questo
        qui se sei si sia siamo sono stata stato su sua sue sugli sui sul sulla sulle sullo suo suoi te ti tra tu tua
        tuo tutta tutte tutti tutto un una uno vi voi
    """,
    "portuguese": """
        a à ao aos aquela aquele aqui as às até cada com como da das de dela dele deles depois do dos e é ela elas ele
        eles em entre era eram essa essas esse esses esta está estão estas estava este estes estou eu foi foram há isso
        isto já lhe lhes mais mas me mesmo meu meus minha minhas muito na nas nós nos nossa nosso num numa o os ou para
        pela pelas pelo pelos por porque porquê qual quando que quê quem são se seja ser será seu seus só sobre sua suas
        também te tem têm tenho ter teu tinha todas todo todos tu tua tudo um uma umas uns você vocês vos
    """,
    "dutch": """
        aan al alle alles als altijd andere ben bij daar dan dat de deze die dit doch doen door dus een eens en er had
        hadden heb hebben heeft hem het hier hij hoe hun iemand iets ik in is ja je jij jou jouw jullie kan kon kunnen
        maar me meer men met mij mijn moet na naar nog nu of om omdat onder ons onze ook op over reeds te tegen toch toen
        tot u uit uw van veel voor waar waarom wanneer want waren was wat we wel werd wezen wie wij wil worden wordt zal
        ze zelf zich zij zijn zo zou
    """,
    "swedish": """
        alla allt än att av blev bli blir de dem den denna deras dess dessa det detta dig din dina ditt du där då efter
        eller en er era ett för från ha hade han hans har henne hennes hon hos honom hur här i inom jag ju kan kunde man med
        mellan men mig min mina mitt mot mycket något några när nu och om oss på samma sedan sig sin sina sitt ska skulle
        som till under upp ut vad var vara varför varit vart vem vi vid vilka vilken vilket är över
    """,
    "danish": """
        ad af alle alt anden at blev blive bliver da de dem den denne der deres det dette dig din disse dog du efter
        eller en end er et for fra ham han hans har havde have hende hendes her hos hun hvad hvem hvor hvorfor hvordan
        hvornår hvis i ind jeg jer jo kan kunne man mange med meget men mig min mine mit mod ned noget nogle nu når og
        også om op os over på selv sig sin sine sit skal skulle som sådan til ud under var vi vil ville være været
    """,
    "norwegian": """
        alle at av både ble bli blir blitt da de deg dem den denne der deres det dette di din disse du eller en er et
        ett etter for fordi fra før ha hadde han hans har hennes her hos hun hva hvem hver hvilken hvis hvor hvordan hvorfor
        i inn jeg kan kunne man mange med meg meget mellom men mer min mine mitt mot mye noe noen når nå og også om opp
        oss over på samme seg selv si sin sine sitt skal skulle slik som så til under ut var vi vil ville være vært
    """,
    "finnish": """
        että hän häntä hänen he heidän heitä hänellä ja joka jonka jos jotka kanssa koska kuin kuinka kun me mikä miksi
        milloin mitä missä minä minun minua mukaan mutta myös ne niiden niin niitä noin nyt ole olen olet olemme olette
        olla oli olin olivat on ovat se sekä sen siellä siinä sinä sinun sitten sitä sillä siis tai te teidän tuo tuon
        tämä tämän tässä tätä vaan vai vain
    """,
    "hungarian": """
        a az abban ahhoz ahogy ahol aki akik akkor alatt amely amelyek ami amikor amit annak arra át azok azon azt azzal
        be bele de e ebben egy egyik együtt el ennek én erre és ez ezek ezért ezt fel felé hanem hiszen hogy hogyan hol
        honnan hozzá ide igen ill illetve ilyen is ismét itt jól ki kik kit le lehet lesz lett ma majd már meg mely mert
        mi mikor mint mit miért most nagyon ő ők olyan ott össze pedig rá saját sok szerint tehát te ti több tovább úgy
        vagy vagyok van vannak vele volna volt voltak
    """,
    "romanian": """
        a ai al ale alt am ar are aş așa asta astă au avea ca că când care ce cea cei cel cele chiar ci cine cu cum da
        dacă dar de deci decât deja din după e ea ei el ele era este eu fi fie fiind foarte fost i îi îl îmi în încă
        între îşi își la le li lor lui mai mă mea mei mele meu mi mie noi noştri nostru o or ori pe pentru peste prin
        printre s sa sale sau să se și şi sunt său sub te ta tău ți toate tot toți tu un una unde unei unii unor unui va
        vă vom vor vostru voi
    """,
    "turkish": """
        acaba ama ancak artık aslında az bana bazı belki ben beni benim bile bir biraz biz bize bizi bizim bu buna bunda
        bundan bunlar bunu bunun çok çünkü da daha de diye dolayı en gibi göre hangi hem hep her hepsi ile ise için işte
        kadar ki kim kime kimi mi mı mu mü nasıl ne neden nerede niye o olan olarak oldu olduğu ona onlar onlara
        onların onu onun öyle oysa pek sana sanki sen seni senin siz size sizi sizin şey şöyle şu tüm var ve veya ya yani
        zaten
    """,
    "russian": """
        а бы был была были было в вам вас ваш весь во вот все всё всего всех вы где да даже для до его ее её ей ему если
        есть ещё еще же за здесь и из или им их к как какая какой когда кто ли мне меня мной мои мой мы на над наш него
        нее ней них но ну о об однако он она они оно от очень по под после потом потому почему при с сам свой свою себе
        себя со так также такой там тебе тебя то тогда того тоже той только том ты у уже чего чей чем что чтобы эта эти
        это этого этой этом этот я
    """,
    "arabic": """
        إلى أن إن أنا أنت أو أي أيضا إذا إذ الذي التي الذين اللذين اللتين الآن أنه إنه أنها إنها أين بعد بعض بها به بين
        تلك ثم حتى حيث خلال ذلك سوف عن عند على عليه عليها فقط في فيه فيها قبل قد كان كانت كل كما كيف لأن لدى لقد لكن له
        لها لهم لو متى مع من منذ منه منها نحن نحو هذا هذه هذان هل هم هن هنا هناك هو هي و وهو وهي يا يكون
    """,
    "greek": """
        αλλά αν από αυτά αυτές αυτή αυτό αυτοί αυτός αυτού αυτών για γιατί δηλαδή εάν εγώ είμαι είναι είσαι εκεί εκείνη
        εκείνο εκείνος εμείς ένα έναν ένας εσείς εσύ έχει έχεις έχουν έχω ή ήταν η θα και κάθε κατά κι με μετά μας μια
        μία μου να ο οι όμως όπου όπως όταν ότι ποια ποιες ποιο ποιοι ποιος πολύ που πού προς πως πώς σαν σας σε στα
        στη στην στις στο στον στους στου στων τα της τη την τι τις το τον του τους των ως
    """,
    "hindi": """
        अब अगर आप इन इस इसका इसकी इसके इसे उन उनका उनकी उनके उन्हें उस उसका उसकी उसके उसे एक ऐसा ऐसे और कब कर करना करने
        का कि कितना किस किसी की कुछ के कैसे को कोई कौन क्या क्यों गई गए गया जब जहाँ जा जाता जाती जाते जैसे जो तक तथा तब
        तुम ने तो था थी थे द्वारा पर फिर बहुत भी मुझे में मेरा मेरी मेरे मैं यदि यह यहाँ या ये रहा रही रहे लिए ले वह वहाँ
        वाला वाली वाले वे सकता सकते सभी साथ से हम हमारा हमें ही हुआ हुई हुए है हैं हो होता होती होते होना
    """,
}

# What English drops and these languages mean something by: "an" is a year in French, "on" is ten in Turkish.
MEANT: Final[Mapping[str, str]] = {"french": "an", "turkish": "an on"}

# What says no, and is never dropped, even where its stem is that of a word above.
NEGATIONS: Final[Mapping[str, str]] = {
    "english": "not no never without",
    "german": "nicht kein keine keinen nie niemals nichts ohne",
    "french": "ne n pas jamais sans aucun aucune rien ni",
    "spanish": "no nunca sin nada jamás ni ningún ninguna",
    "italian": "non mai senza nessuno nessuna niente né",
    "portuguese": "não nunca sem nem jamais nada nenhum nenhuma",
    "dutch": "niet geen nooit zonder niets",
    "swedish": "inte ej ingen inget inga aldrig utan",
    "danish": "ikke ingen intet aldrig uden",
    "norwegian": "ikke ingen intet aldri uten",
    "finnish": "ei en et emme ette eivät älä ilman",
    "hungarian": "nem ne sem soha nincs nélkül",
    "romanian": "nu nici niciodată fără",
    "turkish": "değil yok hayır hiç asla",
    "russian": "не ни нет никогда без нельзя",
    "arabic": "لا لم لن ليس ليست بدون غير",
    "greek": "δεν δε μη μην όχι ποτέ χωρίς",
    "hindi": "नहीं न मत बिना",
}
