"""Words and starts of words that tokenizers hold whole, as a figure of the estimate in `contextpack/core/tokens.py`.

Lower-case entries of the vocabularies of both cl100k and o200k, the earliest (that is, the most frequent) of them;
what the Claude families spell in three pieces is left out. `python -m bench.fit_tokens words` lists them;
the vulgar ones are left out.
"""

from typing import Final

from memories.core.text import word_set

# One token in every family.
WHOLE: Final = word_set(
    """
    able about above access according account across act action active add added address af after again against age
    air al album align all along already als also although always am among an and android another any api app append
    application are area args around array art article as async at att au author av available average await award away
    az back background band base based be became because become been before began being below best better between big
    black block board body book books border born both box br break build building built business but button by call
    called came can car card care career case category center central century change char character che check child
    children church city class click client close club co code col college color column com come command common
    community como company component components con config console const container content context control core could
    count country course court create created current da das data database date day days db de death def default
    define del della den department der des described description design det details development device df di did die
    died different din director display district div do document does don done door double down download du due during
    each early education een either el election element els else em email en end env er era err error es est
    established este et even event events every example except export express external face false families family far
    father features female few field file files film films final find first five float following font food football
    for force form format former found four free from front full func function further future game games general get
    give given global go god going good got government great green group had half han har has have having he head
    header health height held help her here het high him his history home host house how however href html http https
    human id if il im image images img import important in include included including income index info information
    init input install int international into io is it item items its java je job join js json just key king km know
    known la label land language large las last late later law le least led left len length les less let level li
    library license life light like line link links list little live living load local located location log login long
    look los love low made main major make making male man management many map march market married master match
    material math max may md me means med media member members men message met method might military million min model
    models module money month months more most move much music must my na name named names national native near need
    net network never new news next night no node non none north not note now np null num number object och od of off
    office official often og old older om on once one online only op open option options or order org original os
    other others our out output over override own package page par para param params park part party password past
    path people per period person place places play played player players please po point points police political
    population por port position post power present president press price print private process product production
    products program project property props public published push put py que query question race random range re read
    real really received record records red region register related release released render report req request require
    required res research response result results return review right road role room root round route router row run
    running said same san save say says school science score script se search season second section security see
    select self send series served server service services session set several share she short should show si side
    since single site six size small so social society software som some something son song source south space special
    species split square src st star start started state states static station status std step still store story str
    street string student students study style su success such super support system table take target task te team
    template term test text th than that the their them then there these they things think third this those though
    three through til till time times title to today together token told too took top total town track train training
    true try two type types um un una und under une units university until up update url us use used user username
    users using util va val value values van var various version very via video view views void von want war was water
    way we web website week well went were west what when where which while white who why width will win window with
    within without women won word words work working works world would write written www year years you young your za
    """
)

# One token in the GPT families, one or two in the others.
FREQUENT: Final = WHOLE | word_set(
    """
    aan ab aber ability abs absol absolutely abstract ac academic acc accept accident accounts accur accurate ach
    achieve actions activ activities activity actual actually ad adapt adding addition additional ade adjust adm admin
    administr administration adopt adult adults adv advance advanced advant advantage advent advert advertising advice
    advis aff affect affili afford affordable ag agency agent ago agr agre agree agreed agreement ah ahead ai aid aim
    ainda ainsi aj ak akan akt alcohol ale alert alg algo algun ali alla alle alleen alles allow allowed allowing
    allows almost alone alpha alt alter altern alternative ama amazing amb amer amount ana analy analysis anc andere
    anderen androidx ang angle anim animal animals ann announced annual ano anos ans answer answers ant ante antes
    anti anx anyone anything anywhere ao aos ap apart apartment apenas appar appe appear appearance appears applic
    applicable applications applied apply appreciate appro approach appropriate approved approximately apps apr apro
    ar arch architect areas aren arg argument arguments aria arm arr arrest articles artist artists ask asked asking
    aspect aspects assert assess asset assign assim assist assistance associ associated assum ast ath atr attack
    attempt attend attention attr attract attribute attributes auch aud audience audio auf aug aument aus aussi aut
    auth auto autom automatically autor aux avant avec avoid avoir aw aware awesome ax axis ay ba bab baby bad bag bah
    bak bal balance ball ban bank bar bare bas basic basis bat batch bath bathroom batter battery battle bay beach
    bear beat beautiful beauty becomes becoming bed bedroom beg begin beginning beh behavior behind bei beim bek bel
    belang believe bem ben benef benefit benefits bent ber bere bes besch beste bet bew beyond bez bg bh bi bid bien
    biggest bij bike bil bill billion bin binary binding binnen bir bird birth bis bit bl blank ble blij blo blog
    blood blue bo bod bol bon bond bonus bool boolean boost boot bor bot bott bottom bought bound boy bra brain branch
    brand brands bre breakfast breath brief bright bring brings bro broad broken brother brought browser btn bu buck
    bud budget buf buffer builder bul bur burn bus businesses busy buy buying byte bytes ca cab cache cad cada cal
    callback calling calls cam camb camera camp campaign cancel cancer candid candidate cannot cant canvas cap capac
    capacity capital capt carbon cards carry cars cart cas casa cases cash casino caso cast cat catch categories cause
    caused causes ce cel cele cell cells cent centre cer cert certain certainly ces cette ch cha chain chair chall
    challenge challenges champ chance chang changed changes changing channel characters charg charge charges chart
    chat cheap checked chem chemical chi cho choice choices choose chose chosen ci cin cir circ circum cit cities
    civil cl claim claims clar classes classic cle clean cleaning clear clearly clients climate clin clinical clock
    clos closed cloth cloud cm cmd coach coff coffee cold coll collect collection colors colour columns comb
    combination combined comes comfort comfortable coming comm comme comment comments commercial commit committed
    commun communication communities comp compan companies compar compare compared compat compet competition compl
    comple complet complete completed completely complex compliance complic compos compr comprehensive comput computer
    comun conc concept concern concerns cond condition conditions conduct conf conference confidence configuration
    confirm conj conn connect connected connection cons consc conse consider considered considering consist constant
    constit construct construction constructor consult consum consumer consumers cont contact contain containing
    contains contents contin continu continue continued continues contr contra contract controller conv conven
    convenient convers conversation convert cook cookies cool cop copy copyright cor corner corporate corr corre
    correct correspond cos cost costs cot cou coun counter countries couple cour cours courses cout cov cover coverage
    covered cr cra craft cre cream creat creating creation creative cred credit cri criminal crisis crit critical cro
    cross crow crusher cs ctx cu cual cuando cuenta cul cult cultural culture cup cur curr currently cursor custom
    customer customers cut cv cy cycle cz daar dad dag daily dal dalam dam damage dan danger dann dans dar dari dark
    dass dat datas dates dating daughter dav dead deal deals deb debt debug dec decide decided decis decision
    decisions deck decl declar decor decre ded dedicated deep defined definit definitely definition deg degree dei
    deix delay delete deliver delivered delivery dem demand dengan dent dentro dep depart depend depending deposit
    depth depuis dere desc describe desde designed designs desire despite dess dest destination destroy detail
    detailed detect determine determined deux dev develop developed developing devices deze dh dhe dia dialog diam dib
    dich dict didn dies diese dieser diet dif difer diferentes diff differ difference difficult dig digital dil dim
    dinner dip dir dire direct direction directly directory dis disabled disc discount discover discovered discuss
    discussion dise disease disp dispatch dist distance distinct distr distributed distribution dit divers diverse diz
    doc doctor documents doen doesn dog dogs doing dok dol doll dollars dom domain domin donc donde dont dos dot dou
    doub doubt dr drag draw dream dress drink drive driver driving dro drop drug drugs dry dt dump dur durante
    duration durch dus dut dy dynamic dz ea earlier earn earth eas easier easily easy eat eating eb ec echo econom
    economic economy ed edge edit editor educ ee eer eerste ef eff effect effective effects efficiency efficient
    effort efforts eg egg ei eigen eight ein eine einem einen einer eines ej ek ela ele elect electr electric elements
    elev elif elig elim ell elle eller emb emot emp employ employee employees empres empresa empty enable enabled enc
    encore encour ended endl ends energ energy enf eng engine engineering enh enjoy enjoyed enough ens ensure ent
    enter enth entire entity entr entre entry ents enum environment environmental ep epis episode equ equal equip
    equipment ere erg errors erv esc escol ese eso esp especial especially esper ess essay esse essential esta
    establish estado estar estas estate estim estr eta etc eth ett eu euro ev evening eventually ever everyone
    everything evid evidence ex exact exactly exam examples exc excellent exception excess exchange excited exciting
    exclusive execut execute exercise exist existing exists exit exp expand expect expected expensive exper experience
    experienced experiences experiment expert expertise experts expl explain explore expos expression ext extended
    extends extension extr extra extract extremely eye eyes ez fa fab fabric fac facil facilities facility fact factor
    factors factory fail failed failure fair faire fait faith fal fall fam famil familiar famous fan fans fant
    fantastic farm fashion fast faster fat fav favor favorite favour faz fazer fe fear feature federal fee feed
    feedback feel feeling feels fees feet fel felt fem fer fest fetch fi fields fif fig fight figure fil filename fill
    filled filter fin finally financ finance financial finding fine finish finished fir fire firm fis fish fit fix
    fixed fl flag flags flash flat fle flex flight flo floor flow fly fn fo focus focused foi fois fol folder foll
    follow followed fon fond foot forces fore foreach foreign forget forma forms fort forum forward fot foto fr fra
    frame fre fresh fri friend friendly friends fro fruit fs ft fu fue fuel ful fully fun functions fund funds furn
    furniture fut ga gain gal gam gan gar garant garden gas gather gave ge gear geb gebruik ged geen gef gegen gek gel
    gem geme gen gener generally generate generated generation ger gere ges gest gets getting gew gez gi gibt gift gir
    girl girls gives giving gj gl glad glass goal goals goed goes gold gone goods goto gover govern gr gra grad grade
    gran grand grande grandes graph grat grav gre greater greatest grid gro ground groups grow growing growth grup gu
    guarantee guard guess guest guests guid guide gun gust gut guy guys gy ha haar hab habe haben habit hac hace hacer
    hair hal hall ham hand handle handler handling hands hang happ happen happened happens happy hard harm hash hasta
    hat hav haven hay headers healthy hear heard heart heat heavy heb hebben heeft heel hel hele hell helped helpful
    helping helps hem hi hidden hide hier higher highest highlight highly hij himself hin hip hist histor hit hj hl ho
    hol hold holding holiday hom homes hon honest hook hop hope hor horas horr hospital hot hotel hour hours hous hu
    hub huge hum hun hundred hus husband hv hy ia ib ice ich icon ide idea ideal ideas ident identify identity idx ig
    ign ih ihr ik ikke ile ill ils imag imm immediately immer imp impact impl implement implementation implements
    implied importance importante impress impro improve inc incl includ includes incor incre increase increased
    increasing incred ind inde independ independent indic individ individual individuals industrial industry inf infl
    influ influence inform ing ingredients ini initi initial inj injury inline inn inner innov ins insert inside inst
    installation installed instance instanceof instant instead instit instr instructions instrument insurance inte
    integer integr intended intent inter interess interest interested interesting interface interior intern internal
    internet interval interview intr inv invalid invest investig investment invol involved ip ir iron isn isol iss
    isso issue issues ist iter itself itu iy iz ja jaar jag jak jam javax jed jeg jest jew jo jobs jog joined joint
    jou jour journal journey joy ju jud jul jump jun jur justify ka kab kad kal kam kan kann kans kap kar kas kat ke
    keep keeping keine kept ker kes ket keys kg kh ki kick kid kids kil kill killed kind kinds kit kitchen kl kle kn
    knew knowledge knows ko kol kom kon kont kor kot kr krij kt ku kul kun kunnen kup kur kut kv kw laat lab labels
    labor lack lag lan lang larg larger largest lat latest launch lav laws lay layer layout lead leader leaders
    leadership leading leads learn learned learning leave leaves leaving lect leg legal lett letter leur leurs lev
    levels lib lic lie lif lig lik likely lim limit limitations limited lin lines linked lista listed listen listing
    lit liter liv lives ll lle lo loaded loading loan loans loc locations lock logger logo lok longer looked looking
    looks loop lors lose loss lost lot lots lov loved lovely lower lu lub luck lugar lui lunch lux ly ma maar mac mach
    machine machines mad mag magn mah mai mail maint maintain maintenance maior mais maj majority mak maken makes mal
    manage managed manager mand manifest manner mant manual mar margin mark marketing markets marriage mas mask mass
    massage mat matches mater materials matrix matter mau maximum maybe mayor mb mean meaning meant meas measure
    measures medic medical medium mee meer meet meeting meg mehr mejor mel mem memb memory meng menos mens mensen ment
    mental mention mentioned menu mer merc mere mes mesmo mess messages meta metal methods mg mga mi mic mich micro
    mid middle mig migr mij mil miles mill millions mind mine mini minimum minor minute minutes mir mis mismo miss
    missing mission mist mit mix mixed ml mm mo mob mobile mock mod mode moder modern modify moet mog mogelijk moins
    mol mole mom moment momento mon monde monitor mont monthly mor morning mort mostly mot mother motor mount mouse
    mouth mov moved movement movie movies moving mp ms msg mt mu mud muit muito mul mult multi multiple mun mundo
    municip mur mus musical muss mut muy myself myst naar nach nad nada nag naj nak nam namespace nan nap nar nas nat
    nation natur natural nature nav nd ne nearly neces necess necessary needed needs neg negative neighbor nel nem neu
    ng nga nh ni nice nicht nie niet nieuwe nil ning nj noch nod nodes nog nom nombre nome nor norm normal nos nost
    notes nothing notice notre nou nous nov novel nt nu nue nullptr numbers numer numerous nun nur nut ny ob obj
    objects objet observ obt obtain obvious oc occ occasion occup occur odd oder offer offered offering offers offic
    offset oh ohne oil ok ol ole onde onder ones ons ont onto onze oo ook opened opening oper operating operation
    operations operator opin opinion opp opportunities opportunity opt optim ord orders organ organis organization
    organizations orient orig origin ot otherwise otro otros ou outdoor outside ov overall owner owners pa pac pack
    pad pada padding pag pages paid pain paint pair pak pal pan pand panel pap paper parameter parameters pare parent
    parents parking parse parser parte partial partic particip participants particular particularly parties partir
    partner partners parts pas pass passed passion pat patient patients pattern pay payload payment pays pd pe peace
    ped pel pela pelo pen peng pens pent pentru percent perfect perform performance performed perhaps perm perman
    permet permission permissions permit pero pers personal personas pert pes pessoas pet peu peut ph phase phone phot
    photo photograph photos phys physical pi pic pick pict picture pictures pie piece pieces pil pill pin pit pl plac
    placed placeholder plan plane planning plans plant plants plastic plate platform playing plays ple plenty plot plt
    plugin plus pm pod pode poder podr pointer pok poker pol polic policies policy polit poll poly pom pon pool poor
    pop popular porque pos posit positions positive poss possible possibly posted posts pot potential pou pour pow
    powerful pr pra pract practical practice practices pre prec precis pred prefer prem premier premium prepare
    prepared pres presence presented pressure prest pret pretty prev prevent previous previously pri prices prim
    primary prime primer princip principal printf prior priv privacy pro prob probably proble problem problems proc
    proced procedure proces processes processing prod produ produce produced prof profes profession professional
    professionals profile profit programs progress proj projects projet prom promot promote prompt prop proper
    properly properties propos pros prot prote protect protected protection protein protest protocol proud prov provid
    provide provided provider providers provides providing prz ps psych pu pub publish pued puede pueden pul pull pump
    pun pur purch purchase purchased pure purpose purposes purs putting qu qual quality quando quant quantity quarter
    quel quer quest questions queue qui quick quickly quiet quite quot quote ra rac rad radi radio rain rais raise
    raised ran rank rap rapid rare rat rate rates rather rating raw raz reach reached reader readers reading readonly
    ready reality realize reason reasons reb rec rece receive recent recently recipe recommend recommended recon rect
    redirect redis redu reduce reduced ref refer reference reflect refresh reg regard regarding registered registr
    registration regul regular reject rel relations relationship relationships relative relax rele relev relevant reli
    reliable relig rem remain remaining remains remember remote remove removed ren rend rent rental rep repair repe
    replace reply reported reports represent reput requ requested requests requirements requires reserved reset resid
    residents resolution resolve resource resources resp respect respond respons responsibility responsible rest
    restaurant restaurants restr ret retail retr returned returns rev reve reviews reward rh ri rich rid ride rig
    rights ring ris rise risk ro rob rock rod roll rom roof rooms rot rou rout rows rs ru rub rule rules rum runs sa
    sab sac sad saf safe safety sal sale sales salt sam samen sample samples sand sang sans sar sat sau sav saved saw
    saying sb sc scale scan scen scene sch sche schedule schon schools scient scope scr scre screen scroll sea
    searching seat sec seconds secret sector secure sed seed seeing seek seeking seem seemed seems seen seg segment
    segu sehr sein sek sel sele selected selection sell selling sem sempre sen sender senior sens sense sent separ
    separate sequence ser sera serial serious serv serve ses sets sett setting settings setup seu seus seven sever sh
    shall shape shared shares sharing sheet shift ship shipping shoot shop shopping shot showed showing shown shows
    sich sido sie sig sign signal signed signific significant significantly signs sil sim similar simple simply sin
    sind sing sist sistem sistema sister sit sites sitting situ situation sizeof sizes sj sk skal skill skills skin
    skip sky sl sle sleep slight slightly slot slots slow sm smaller smart smo smooth sn snow sob sobre soc socket
    soft soit sol sold sole solid soll solo solution solutions someone sometimes songs sono sont soon sor sort sou
    soul sound sounds sources sous sow sp spe speak spec specific specifically specified spect speed spend spending
    spent spin spirit spl spons sport sports spot spr spread spring sql squ staat stack staff stage stand standard
    standards stars starting starts stat stated statement stay ste steel steps ster stick stim stock stone stop
    storage stored stores stories straight strategies strategy stream strength stress strict strong struct structure
    stud studies studio stuff styles sua suas sub subject submit subs substant suc succ successful successfully sud
    suff suffer sugar suggest suis suit suitable suite sul sum summ summer sun sup superior supp supply supported
    supports sur sure surface surg surround surv survey sus susp sust sv svo sw swe sweet switch sy sym symbol
    symptoms syn sys syst systems sz ta tab tables tag tags tah tail tak taken takes taking tal talent talk talking
    tam tan tank tant tanto tap tar tas tasks taste tat tau tax teach teacher teachers teaching teams tech techn
    technical technique techniques technologies technology teen tegen tek tel tele tell tem temp temper temperature
    tempo temps ten tend tener tent ter terms terr terror testing tests tf thank thanks theme themselves theory therap
    therapy therefore thi thick thing thinking thought thoughts thous thousands thr thread threat throughout throw
    throws thus ti ticket tickets tid tidak tiempo tiene tight tijd tim timer tin tip tipo tips tir tit tl tmp tod
    toda todas todo todos toe tok tom ton tool tools topic topics tor torch tot totally tou touch tough tour tous tout
    toute toward towards tr tra trab trabajo trad trade trading tradition traditional traff traffic trail trait trans
    transaction transfer transform transition transport tras trat trav travail travel tre treat treatment tree trees
    trend tres tri trial trib tried trigger trip tro trong trop truck truly trust truth trying ts tu tub tum tun tur
    turn turned tus tut tv tw twe twee tx txt ty typ typeof typically ua ub ud ug ui uint uit uk ul ult uma undefined
    understand understanding unique unit univers unless uno uns unser unsigned unt unter untuk updated updates upload
    upon upp upper ur usa usage useful uses uso usually ut uw uz vac vai vak valid validate valor valu vari variable
    variables variant variety vary vast ve vec vector ved veel veg veget veh vehicle vehicles vel ven vend vent ver
    verb verd verify verk verm vers versch vert verw veter vez vi vict vid vida videos vie viel vier vil vill vin vind
    viol vir virt virtual virus vis visible vision visit visitors visual vit vital viv vo voc voice vol volt volume
    vom voor vor vos vot vote votre vous vr vra vs vu vul vy wa waar wait waiting walk walking wall wanted wants waren
    warm warrant warranty wasn waste wat watch watching wax ways weak wear weather websites wedding weekend weeks weer
    weight wel welcome wen wenn wer werd werden werk wet wh whatever whe whether whole whom whose wid wide widget wie
    wieder wife wij wil wild willing wind windows wine winning winter wir wird wire wish wo woman wonder wonderful
    wood wor worden wordt worked workers worldwide worry worth wr writ writer writing wrong wrote wur wurde wy xml ya
    yak yang yap ye yes yet yi yield yn yo yourself zal ze zero zich zijn zip zo zoals zone zou zu zum zur zus zw
    """
)
