"""The numbers that Sobol's sequences begin with, for the first 1111 dimensions.

They were found by S. Joe and F. Y. Kuo: "Constructing Sobol sequences with better two-dimensional projections",
SIAM J. Sci. Comput. 30 (2008).

For each dimension after the first: four bits for the degree of its primitive polynomial, the polynomial's bits, and of
the initial direction numbers, which are odd, all but the first one without their last bit.
"""

from __future__ import annotations

import base64

__all__ = ["DIMENSIONS", "direction_numbers"]

DIMENSIONS = 1111
BITS = 30


def direction_numbers(count: int) -> list[list[int]]:
    """For each of `count` dimensions 30 numbers, the leading bit of the first of which is bit 29.

    Example:
        >>> from pyburn._sobol import direction_numbers
        >>> [number >> 26 for number in direction_numbers(2)[1][:4]]
        [8, 12, 10, 15]
    """
    raw = base64.b85decode("".join(_TABLE.split()))
    bits = int.from_bytes(raw, "big")
    left = len(raw) * 8

    def read(width: int) -> int:
        nonlocal left
        left -= width
        return (bits >> left) & ((1 << width) - 1)

    rows = [[1] * BITS]
    for _ in range(1, count):
        degree = read(4)
        polynomial = read(degree + 1)
        row = [1] + [2 * read(place) + 1 for place in range(1, degree)]
        for place in range(degree, BITS):
            number = row[place - degree]
            for step in range(degree):
                if (polynomial >> (degree - 1 - step)) & 1:
                    number ^= row[place - step - 1] << (step + 1)
            row.append(number)
        rows.append(row)
    return [[number << (BITS - 1 - place) for place, number in enumerate(row)] for row in rows]


_TABLE = """
9K7xxgqbOwmQ<l>NS60ycR&}gRej6a9fyXtJt?rwxNPH?n{4dH=9Ky1{j=urKQZEX^NugPj)2CVc4UsPPZs$1t5#_9+~OvQ@7@G}_&qXRe6umiKA
zSF-&dCD56cN^C+|w&Gx)Y1_5Iv$F#oj<(1`5*W<5l&f9vcbTPl`skxiFt7)Y<bMWD1;`NzPXEU-yI%@&m<M^1~6p$jfX9+xEO;~VSGv9YNkUxx_
cgLQJmbNhrOjy&;i{nZ~*maRgVM=nD3yXG6TL9jw8h(d{$3a(<<u;;V+n9Nl}?H1-)RUL;rS(n$FC=UK+p8Yh$ZkfCrKKsgMcU#Wb#R;EI%ciaZX
mM*_e3F_~)f<WEW}`|CKol9NUa`UVwrczmpvncB-0v{o{N}x&zhcw*v&jVd{n~95?df@tn{8OvR{du62n;rg$-YkxatuOoIZm`^SDaP{YyZY4AIE
*AS&7Ke0J-rha}tY#hEJUAQ!bI5Cr_(;<0yI7^jtD@=5`h?-y_kTtg9A{iDzwm%L~pa-1$QuH-dNh=4q@4o)iFtk}qeEo$7FJ8SPn?)dyaCno1?%
uAd&XYG-99%P~+lgz58t&LMfKeO424DQur+>1l2sC*#KI5AON;Qc*1FvVXezNIglY6FCVkE$&)_Z4}@BhV!UT8V<jWlDdVbCBxxrd#KCwm_#6#3X
S<sLn%K}sREDua;*5Ok#01>FYr{Uiyb2YIs8hR{0rl5q(7<7sCt)dx_X{>Cy8J#5vl&$x%K)Es-d!BBRJH+sx!CWBZ6wGq-6g-t!)#kW5aS8+%_7
gq0zKit>UVNq-AGm#A>SjwXFz&a;n$G@)*f++OVd@?rU~Vs~=LSQ!1RAvgp3@L&rF)L!d0;^^%&n{gw`!Lnf=sSyS`SR%*We!umpi_^bAE%&h0Bi
o#}aZ!YE}tScZpp<9R=#IscX)3<4?Zp?p`gBU8ve=IU;J|wK3lX3WaMT*O1@9r<4@vQPixC`R|y3gn4#AMqqtrHogpSX#d*0koxOHcu=f;J)o-R$
bxZSFCk)oZQ4g^5y+y2{_Ruaj4Qp{_1_4B&s9+T*+v*PXoju0mK;NhdPu=Qj{L)5r9#j#DHbB)VGZy@GA|WhSnwATw-HY})HH-yMd&C9cN5DL>ch
>hHBpo|ebzuN$&^SjfN%@^b4cX*KDuV{DI|^}$;EZdCmh6VI>a^U;4Y?W+GFm`7uoXSfBwal_Mr3Ds~f=&rhlZxN2*t#d})mQ72Q!D`BbA>_rZ%Y
=9X(Cc38O}7khL<HTeY|-u+P0)_GyI}@gIQNwBjnel8xO=f;wr7AKJ8>Hr<U0diaI)f5tp^<CZ*6tN{rKR&qVIouikKLiV9^(W7ZxrE&M1eYY;H5
$%zLooj5XY7vu9QlVvWMM;U%>D-s>G}an5<VS8HA2?&GXoX42tCHr2<k<R+v7+OF%6-V(9$PM7kxB6nZ{8`iE5?nywo3A!7BrCgMg?qp2dQ`osX=
(a&V+I{(QdcZ|-yG&fh<rS7%u;|F970OR2%SLM(Pz#k3ncd`yCx5pqc=rYnr*VMpT<YasHU6i5+`9gPDH!*HSh;`M_=4_Th~IMtJXibVC5U3?JbM
{f$x>M@&0o(lr4U?+`<mZu*({2Itamp*%WBKGFzoJe;pP=I6uvQB?6sw#mnBC_x#f!m1_4Oh4Rh}jpM=@9xUT2~#n*L4(ueiXI14@^sVh>Op+8X>
1}IT%S3<B=c?faEP_BwuMs<lj)^^<_$f|Qcl*>N4VQ+TE^1)T}blQy3V>{_umg(kThf(JXu*K8+WLOwpFD~n-SSmN5F$K+cQYs9urgGG5Zl`Vu8+
f9o!Ch0D9>=D)kQlnF4?m43tYmj}W~$Y+1ZdJC>eVC;Uu;*oE!L>@`k0Jesk^Q9w4N1zvXU2FF=|NOO&zfAyU}j_^@b<1U3lKjVWt<AdAj@F>Wf|
b=>2vFtptL947A4VCFg$v0^h$a*o)$G=4pw~yR$bXh1LA#{8wk{Q+(cpD_1ViQbg*;e*JA-rIRcLlC7{^yICQZQt1;wC3e0(GH=w~m}2de$a7`i(
;wB_eVy?c`gL!cx8Ke7SGZKAH*o)8qt5!bQ!e7^rb<LTL6F_ah@gNFDv=Ajl}1cKTi20)cVDv-sXmyP+V0*0%1{_mo88^%^T%y**FTHAo-~k1qAv
`Wdvp591?3_`ZueeOz@>9e&)xIpdyqW4|G2yD(A2PeW&%}s7tNYY-}{;3@HEiOmjpcah2YJT(uvfBgnPmEJ_OS`o~QSU;E|nEVy^Y?7($S>2*Y0W
-ZjjWwW6@WIJ|R2@ysGKoF{n-)Kzld5f$q4Cwlj{-vQ~}<iC(HZXcCA`^mMGq8JVzF?W-r{RXEH)(0;v@zJB8feBn*U(M-iIv5fDyvKXR%*1~3Z+
V)oB;oR%b9VDisxRt0!HVtXskr<Eu;G>q&NRHT=VIM|SDhlF&gU`+yDvS}TJO?k3p(C`v<laiUr21d4-{4O9I0KsdOMO$1sFuOR`i{-1H0iNAC>8
BD7vi+p#h839c5wzPD=atsPQ<8XdJ16FI7M&K&alpciyaqk(pXrfHJ*fP5{m&e5}oS-+jufj_~!i^~N*a?W7xH&Fq`8q;^2+v>Vy^1NDd`jYK!KB
&`5BCWC;lZqVCpLp7yb-rnnxUj0i$U%km*fp^;TX6JjaXpUL4hLhI!ZlxwvIJpq5?+FiY<0#tk>)v|852PejX}7++Jlg6^F?O$kR`g&Qtu5i-4zL
oncH#Clz9I7kq9TsHvwTnQ)NKL3!|M30@PYjlAEpiQokgT9ea?J4<Cjm}kK{RZH^}SAn#i5HgfEi(2(sbvsQh0l=UPf>+Oa#nU(MgLFS$=weB(w&
2st(b?)mSzfU^asht2ctN)wlPgcbYf6YE;p!RPJQ(q+||lCGXDFQ>yZ59S*i>t9ioFmcZ8F*&}wux4T9%QP8%pUKNvfM{%5`*oA0r4k;Kb@!TvJr
rcJ$lLFiH)keb@Vi&xXy$c4lgef9##uiSXOdQh-<a`v(qp-=o4+?JS2>Sxw~v0hD&4qV|2t~^to_ZxEN{9k`)nW?-TZ<d8~0Eis|Zu`G57Fb?kpY
S$o%i*Ng~P&Q&O1U%fft3>;g3XzniyL$0gLLg?~<Re<a)`LZbe+k?Po7ndW8vt}2+<3hN7t{NE-ViFmJ%clvsiN}JF2hA;Vf!|bHEMJZqO=1RH}8
BN2;DYiZGgmzza=a~kW2Km*#m<xjIAoqR4SUZj7VglqJZ9QdAXCpcGEQHFh)dZpFXL0$E(RQ$2)Bgl0Fftu`o%+}<ZOqGdL>=Abs>%X0(f7!Yn(}
LF2UE4_SrR;0rio)>JW(eicL@P1+28a~W@J<2cY3}3b;0-yioVsxM1PoMCnu3%ACekLI2ud1axH5#dA@rKS()}m7OPVKZ+Ve;l*rlH+VdhAfd#ku
9gzCp1Tol}gtH^RBOV(@$tp7e<b!M|kD_2!zt>!my}QmHtk6WF3z9uOQ4aC?K~J5sOyXm<o+kiDTZT!@g8ZU*<$>v0$v=ZaTBYOz&!AZ=lSUn)e&
VuAQze48oPd8J<z3R`vi*oinpE<jNlch~sT2Cy(96_`lO4a<5)lBgwfu5qCYlmgOn$wsrcCAYKDU!F7sj#4pX^@Xl#>uR0=YEN`nr!(B$CJbCgL!
G70e~C)pX?MX=qK2Fx{x~yqzA$k7oPT8IviKso#Co<-OWz`m%uG|9<O)xHr%~P{#tFD<2nzzfsB?gm-pvGkIOs`9$)SM5P6l;$^=myNsDcOk{n-B
jp+MnwU^f3!B#bqpXu{*kv)!Op}zSBF_WC-(x)*a+RgQwd6|^qGaw<O)BAd|A@a|k;;e5Iv<l=$y+mdQQkNtQP7K`LVqfoG!b}Kz&{}i<z(}jH%3
_atVq1BF3PvFKra(Dv6a`t<T6@Ux<jP$yP^Wvf!hymXO35{E9)d`>tkrR%LLJ=eSsVI#3or}bSdJtduDNv`z)$`kUbK>u_dPEmRcmG$?+8y$Sk!e
Mex2yHOjf8mc110ieJcJ9c=RAyR64Q1_T(!_FQJ2`&C>+@L`?Hp`2yr+Rsyb7uj@KSo)|MN$;IoF6(lOZy+zig;!<bZLE=E`>8wmjJ<A}%CIBHr7
N?Sv(<?}r2gPq+Vc10?}hz_riuyfUk3E$>NIWR>N?CTsq=I+{!VO|8HL)k+Q!rBez`+2BVse*d%798)8-}Lgi_Zv9MiEJ#mU{|lvi5qXQi0$_sr^
Oi9GPXvm<S?3>dnkD^~_&*Rsk?TZxC=3(TO+Efo^ezE8>7mRqe^$)V#rB6l+P4S@5d&;VLD=3?+V>~+j3ddiH=j9<n##{Pg(y_vm2blC9psqR*@I
W`m~{i};xPwr<w&?k9Dw%V@M%=4DhZhn~KI@kH3va0Nz8)mv8_cT|}vWGcGb;xn%jL`7pr@iaE#f;NUDJ^I+zSsS0nv3un^S3~qU;i^&Dg)LtaV0
P7_G^c)8xH*B`Dhx=da#!ReZ`L<ciFJKYFmi$xXP8UHYZ#amt1B0tGi~$)Vbqot>hTIT-v;SgVFjy_ZwZCkyM2x>Hy@Y%(HaswZ6}C&nHh_ZvL$5
1Ks(34NA@6?Y=F@^E!RrdA&c&xhNO$vY6{Q3a_0piqFPUoo578lU}p@e_Y$V;JRO74i=^8e2<(brccGz$E5_}bBUxgoQnQpLn0n>9(5aE`ap};FV
0WjMiTX!gcuar%3n@JJIE(zs9QO9oI{>TM8DKU=P_3-O*Z|3@EwfiPba#HSwZ!dQ=HEtt;nW79xdDRo@LbfzNjQKwPti2V0)Nc)CIZ$&XMx2UV$4
&TpL-`HdKnBP5^VJZ#tqC9QIO4Q2k10R@l%B$>P8Yt{m&H1bHp62I>GYorR`C*riHdiV-uhBO0PZb>g2Ro_JNdSp{me$3~6M4CR8Mlc5x|fSKa+U
TuNvzej${Jc{~qgzasDo5SanQkzmep=z%vyz@UmX6WqX$oKD_bF4x}Au^%p-80eUb!(v@shT9ldydK^z&MI|tXa>9u;YY-0pbIaIq|te>mY=sH4k
?_Pc+~Vsph37#pm30M;pcY!Cvbe{K*Cxqs3uv(c7Q930GVkO+dkpv-i4)Yze@5yPGb5CQf$&$R;8mGuQ^iq^B<x^-i7jQrHRjIIKYI;g_`X+1L$1
&7_@AiwuZ&?bsCdBQ;BCL#ks>&)6Am-d=BX_2xC>#Mm3;C~QQ>I#o*qwb&xmI4Vr99-i#Y``9C3^Q<<YaQ482@YpBRBk1?NA(BK13fL)i`{1tt!v
qvoW7sRpfaGkhb)~CST-Yx1H3`~sB@~0K6WA|IK{u1nQxn~X>)0^V^tuk!eIvk2DcCY^zmvxYI(eYZm)JOBwms_CUhwbyrPw^sCeW%RFgoVaRoFv
Qy;Rr#3p^q(S=dErMN71G<+Au9D%eVJY7-twhxxbom)J}HqZNg%oPxoWlGskc?5=SRKI^nW4%kreLvdexa-@H2s@Pe@iX^^LLgU2rsn}ZavX{)dn
z69ojM!dTj*V#>-^LC@SJ+}|{?VE083rFCi`ZrQg9w};xB*2RJJ@G_Jv|^99W0%dy4Y{o^u@4Ux!Dy6vDk1x!WY8=be8oPNZ4`YDIeQhPkatk?bv
g9O6g<>;K#R#j@Wm|>m5E6_HmkbqS$!L#dve260@(4OW1s2SoZXz(<t#cV%UDec6rn>=Gr&Y+}MUi5s?nDU|;=J2H1&z(_r+1qV1?G&)ALmFh(Yd
{8S}nMA(mT`3j9u8Wi@;)!2~Fhf;zjr?q`QBG{J5qNu&uX~x#{r`VT$?r(RXke5Cm*4Um&leVVI=%BA`z}TPS=*TRZYkalu=-8rCm4}OgP_tV=o!
F)HKlH%EE#X)L71*Z5@tM`kg!`(~2-vLJk*`)1^GuPu$k?yYJT|b}-)rN{FW9p~4+zW$p>kVw#@M^og-T)n`yxW3OxV5QW2x<>nIe!?CD^|EuG=f
UhN?(BG}ysa-4&&aF0-;Af7r>%NIC|D02w2H)Y!`C;Sm^T-qH#;iP+KNRF<(^tSMRptk~5@Y}QZSV^1&Ly4coDZOd?QJ>NhZrr6ukJqxj`q~>tC8
`#`xjc4}b4N3GUtJvRm37OV|1U}(Be%RsJ@fbRZfk*@SFxcZ)c8;ms^O$Uf9@yn+MDQ69qy}7WzS!vDRRY66w=FE-d)Vq(g?wy<f?!CIyV&e<;^)
26fFTU>h}iAz0tI>3?^OJOyx8viw3BWblbY{3BG~wO>kx~yl|s}G<k<Up*(j0w=xd_CXW0H)5!W6;?w#Ho1K9$`D-ldD&d5EzSlI;SH6|^otwlgk
V%Z1p9(f2l$LdZ1UfBssUGovrp!Qh{i`fca>jC1CLg!c}f!PmJXVB4%kT9yL|Jf9M9f~~ZS3Egn$=Mal?mcH(PAojcH`y3<yk!!lLjtz19N8OYsJ
5IX4F}TQ)!85ILSIj5X()e@E!iN$|4f6@kgUtN8QCWDsaJk&#rGNI9oZ*Ti=xO2Eg>iVV%aTGSn-bH(BUorJlQYePg6S%<LN?Jdf6~_l<&g)+W8i
4sM#^)Z=(I9K7C$B+1WDu;fq9~GihXeblEulz^8}QEYba`k=a6jVM840`9N~}AK69xM3uQF`l`hdCfP?ytF+ozCm<!yjM+$iN32)!hZ)n!n%PTN`
aa_x)~Hb0McGb9jUvQw^J%;FhuKv9yo?ZG!1-VZo7q)!xL8v>G_E4T=-F7y0~{It>=SG=aM@gIW8HphWVoP(_Ss$bB<-fRM&Dc?8`)vz(DysYW2y
PE9@%331^UoEW<<AlGTCKn()<TF$Nt)Nz}aSLe0e?69x#0{pxI~2OV$8q^Nz**q1kKv2v-xT?O_=$P}y&0n_t8_r9SEyvDtB2KcJ6xF-PC+kJ)p^
NfwA1pK+yOuGw|&)eX?o2v$r|DA{`5vlS(}Bob9jL)n1a#*SIUCK9DK_1S?_Y-3Ht3|Jt)#o2^T@){4C;f3W;8rh3rs$of2G?K!^dfAWViXC*WS8
l7DmD!TSOj(;T#1A|YblH^oO4%P=Q#QC42icZ(7CW?5-p5kgzuB5sJ;9x+H$kVYq1m1Nt{-l{SmU&v`PrWJ&=g+<e~tr}ZrP#WW!G71Yn^)A+}Wh
sillmGZN34pIoYOv&w3r&pKuP7x!J5*?n~IJx+m|+QQ57<#IgY-9^cWyIN7gy<MUq?haEW*PT8>Yfs25!@{D#^<Jr39J_h?IvpWpW$=SVDuk+E*n
Y8hg>)FKB7LK>_Pipx^+S$rYqHQvI6qI}QcG=GEPI>9KV)2;0+u75^<zhzfzEXd_0om2WR1m<hhMo5YTG`h}tlRUKAiYV0_}SX@w@hmu|HebpF4^
45;VSSWTXFVG_}Sh|KP=kkKo*3^<k{fOJ<#_Ei{l&9e%a)I#9d47&4ex!E!pTsZ;isrItYJ9Y1!^g2kRp*z<pg%GuiRjzp;T?7zRxXliBjv092YH
v{xp$%h~tUKM3$KWoV4AN!k0}T??Hc)2X4vBH8>+)shlX7jj1odD;Q$dje8mSH<iqa@q!NNly9(F%SRIjM@kD{f8pApp#bnh}sC>76E7&@}ouGir
NfvjX(@SM^vc<huRM7+u@OQKo759cG?e0vI9tX6Tfyf?%EM%di{Kb5rf5=LfRR|&1yna`EbR-#o8Tkxl|#Zf~H%lC)y!f&N@&Y?z^_F#@Z_AW`4R
dWZK1iWZElH?a%O4JcS<<<JvFpj7~j(>1R=~nc6c~!22Tb2yvx1xY{*wbg9gthyZ|;wAwew+VNx$RP5DIl-fAO>9v1$u!Lw1gW5WJ7ZQhXaP3xzB
-%dpUDZ*qF38D8zuH1vD{c!#c1yMB#M(pm>dquBpkEN_o!UfC7xYZ&F*2qwN7_czE7#p=VTNaez}iaa6Scc@+w)Hkz1mG(es2{MbJkcp4%$!hqJ$
VX%#x{+uG&yt?A$r9+zriR-P%&_60nx_b7&aO=-O3An_2L-iKm>J`PyCMHvpP*eu0<}liFWrAb@g|Y<XENSK44lfTG3g%F)hcdD>*@Njdh3JcKC>
b=qgg&VcN^4#vtnpW18U40I@5ve$y6LfUQlNfWz|%#N&)nA&egf<vhPcSPF`joNVL)~HohZmf(sirRJNgnQi_;~$Vb$J%`QKj2KtD+mkkY1(~o7S
#bmYvyjDTiSr?u9<8^81}7@TH1s51OM8&QFO|GLE49M@oZ-@-CX25(AtPoXz(%(gi6lCd)kcsd*G04N*q)%|JsdU6Gf&$<4u^6QreSAfux)8i53d
Q&)S+s65o%AY<KivciNlZodY7zURL+T@!FhU&;J1U!Y0KZ?Ao5*OnBswcg~iu7uuh0V#W+wP9aM=-P)-}w^p<0N4KK!SK6vuVU28Sx7B>TIohm!F
dAHV6y=@*A=<HW27m~BokSqZg4(tGm=Oz89j*kxJKDDEX#ubM>JLedtJ=EQ<er_5D=sn{<l4O8C+_~4t<n0bk=npoA$xpZ;6r|tAKJxN0#*oJ&e%
AvUfRgvzxt>D2oI<z+}g=&)*gd$5yiV8q1wy(RE7&1D!kelJlf6XMGOue8@gp$X4=r$^DhNy$%WHA{@T)O?U|QET5Tjd9opMY<j1n1NPQhtPTJqd
29c1#9X)<jPuk%?8V!vYfqLP~sM_W16n0V{q}vtbO4{bbdxM1MG_@LA+uG}Qh*W}7I~diwFWT(Y)1}uvC1=%`CEE6T4aP=f3S>IL(%SiDsRLl`Qj
7eyw%Y$}gkbJis3&F=YTE<s;O@%DWL?pYXxj*MHG0Obwc)ZUo!bh^XW}50fq<}$(%TDa`05ug`$=$45!(;$h-2#`yeB;45!(=D(~8?!Gu_l-uG<q
<Xt(}vy~5LqCEFZDkl0D54^r=a@7p5MtWG2ON-g)XtJ@=b<kZ;G3e#!Mn%gBq#C-&6^gmr?z1t}4mFP~sq%@3=)7vZXB9I3u)reV!9@{TYadl-Bk
ar`5^xH99B?!5v!!77}m)kT%YLIB78Hmo;G21on#RPZL+vNpYyxTZy3E5XA)4A&PbK5!0oLc!u^cGnSK-)UhLXY58DXp+0j@v_j<>%deAq4Ua+1o
~Jtom)fg>C(-f!j(`8XMOQFZpAh+uKXTEHFCo``4esirY=eY8qX<7J+2lCEHHe_AV3tZ~v!q^V?BRb+iHsQWXb{!`oKvfl!ev4gBKROWRrd?y#R5
g%m`5Lfc(!W|>&jNjwrtLEB<q<;ls{cW-}158GqRgVR}`Z>cXJ1>0%LDM3I@r64}Kb=zv)xdapu@&p9yIooZ1!Y~X^u~9bi(A#*?qwt~=L{o7~`r
CYEX2{x6MoQ(amfL?$nfj1`1qno1-`j!6SCr?ASh0_B65E9PcTUV+$+6*#SlfkC;$TCrz)~*aqT7mSqHmy#E_%ZAg4>d5S(OiY0+;t1q}!9+R&n<
gJWm4C-P@Mr6=w?zuQax;%iEVr0)!vo+;`wToZFa5dFcnW&@CGWa@(5RpZf<s40262AKRn<$og8VBzb;~%-f_w;xEK!W7ILkZ`-Bc@<!@9#?dU?L
EEQbB+fEfpVO2kS=*}NjN@~BDuRa4*4wP+<1)Ap;=Nu?Xxpw&HcBBk)ib7J<=eOM+eVSX`d%ZIm)pL`3B=$za|W2lQro{yzZ-64uTWMe-`l}@F7=
9D(AyT1Alt%l*kjwu#-?B?_}j!tVrP&qxBCSo7Td-4CpM|Nq?qvN>)X%3KMB$bFz$V{#oN$s1ZIuA)X+AatJ~7|%{g>3w=Mt0p4-z{H`fE&2ZW><
4%^m8q!u_N{^z&$3ftGrh+hF+%tz8hird+9w7;S9M^`_zSlilaB+uiOV{7M!8{6evs$lH{0fB8l9^2_%M<e|ksknhcxZCUaY`r;SPswhOj@#@<qX
=&p6LqIPA=~rY$u-)1#6u;b=G*sIv?K0^COUHno7?%zPSn%d`<aX~)!X}Qcm??aaedcI)Z6`FJC#AyQe$shpxgib8W`&D3q*7u+S~!l^ygc&z5Lr
kDcl8F!QK93aoI)9gWLvpPEQ?31zQFITHFip>sn!X%x$P2P23VrUn$P&wql%`h};wXEW&HVU*(6p3fvj`E-lp)84EMx3fvxX&F5gFT_1#g^V}cEs
zU|&uRUXCvfLzKq0PDimJ!?}*xV>_6|B});{5;?F5E3p8Ei@C*D*BLj@&QO@r8pMV|D9Zh}<whj^Wb^RQ)pW@!T}UI%;U#eR@0&@7y+N_jCr^%N)
X6jNCa!uz^puf5i9(1l&8(E5P<A4i|&I)7(L4XkFW-uCRS);oL*;k>$-c;aO;O0o+Ygd@V;}{riSR4%|`vnjWyaZW<RzoZM4TTYjqvw$Bdlj@(!8
Y5|{SNKLinSln3YY!p3<A7I>l?%Z5qI*AzyLkNQ5-rQdJe3z>GQm)3Pt=wqz$io;#nPZD%Hr#4$cpGTASGaAmq}*-s&+ih0GO#dSGu&}tE@F2!^;
Y|bH{5b{RT(AS#<3mF1Kf7+EnAwXKD4my@7#D_RbrfeQT6d^OWb<sMJ->6v(M7am)v_#czE&kuNmh^Gu(W{^Ts-{hauO%tlWS2w_h%f)}gYs&D?@
pM^3c=jYBCKVcdh&X;_gd-Q8$$2Hb~pF1P)?%le0CHr$EB(%yoLLgMzvW!#QM*kfF0kW#tW65NvVX&%NQnaKDmx!jb?wCbuh3V#j|(%hDFVltqvY
7bYMOWc`9OCz@-4(=39U)-QwOA)nGMRKwws@$a8s-!|iW)a$*zTBp6{UjYLw2AAgr`)IFn^C=ixBvMuirlJMU!r;bGIHH^kKC=)Y%g)#-G6bD{@k
wl$$z|MWO(=OY}~Ni`EWl6K{l{D&)l`-zW2D0x%Jv50o=C6I5lL1xq&!&8Qi($`4_GkWHXc~J>0?Wmg;P@N2j>3EZoIU6r=275q#&Y1Ki8owrdx~
_df@pW8Bnk6N`xtM)nAr%iPy-%ibvAGWuV@lib}*l;f(^z_-~H?A+zdEIxTVSbSHFrQGJk3T*G^s@U@1tK90~Xl(XC13lKLRNU@mPE)wND=7|5?%
eQMTp_i|AggHj$K3JZn!|uo0%d}SncVeVCo^7B8URKtlic|KsC94s=|JX-t=#!~K>a4pBwSxavfTaikwC-6d3>#f+1&onRVd;pgK(gfpWOmzbYzQ
nV9YFPH{Axw9p1#0!{U0|Z`}#umEEc0Cq|M_7~K$Mv$gZ41{aqg%-s`5=_{4fY!f_XRNWW-*{ebP4{e$N_uU#@9Z-hvH{0K!#oZmid0o-%^-5-1k
lh~ZGKA3=*ENurl-(iGoNLC=WLVP9YuzN;%4G4OCFDk$+TA8gFbEr;`uO6oHQgz7DE`6=6v>%9INdK=Q!KYYW$kg~9o;fZFSucpoE)o<+TAwt8jm
#n=_7Ngf!#UV=S8nQZd|)--Q7MxSXnD#!Dlhx{M|!vX%g%TMg21b8Qn+zENAJi0wF%L#@$I|0GWyTgQUjLZrx0GqDhl0=52W^&fQJO{g|goi^IZ?
I^9u7wRvp$S|jr)ZrxMqixIvT8^x&LP2E>Vj)e#w%XfsuqupCT({`EX<IeOsE8Se;{3}ReVLT(C{M}#PUzPdFNrCh@7Tsrkwvh%;e|0PtSKVk-;o
uzMyw<K#Fx_rsY+}}g$f{rZP~CG!M7=-^R+7ZEecg3$blzH5JoRj_^WAnt83rZ93}X-iblrH@a}eDRp&l7igxz{!-X10_W~~#psNH+Ob3&vqAF;r
8k==l65Ij6m75aZ2ncafZhR~eU%m)JriQR|7oLiDNw4(P}=-r82Q%Q(O+v4d<z}<`AQOlSQGGmmitKE+2*<Mm)r44N18Qqd`tT|-bbH5FBzTK2sR
I3pxr-6r}vfY;QaKxbupH%8hY2BRgPcUkH8JnnqGu@qa`iRJnmQ&(eU)`i&aU9$Ku-NkLf!(I>j9T5S9o2&b<lU!cp9<Ya2!$fbZQZL}jr6yTAd4
J`v)!`e#QI196ti5Yy4|$-mDkmw$^KenhTXMlDwcY`77o6}uHCrHAREsC0XtM<huyp2)Yth2t+V`fE#1L=qza*afyZ6$Dc!^Bcd4jvqv!#P%H77_
Ho?5$Pt=@xqTR@Qy|Yi;8H{VOkKM~l)8B%jp7Y>g<K50*k=#>aCS+p=!QIeZW3-E4I~QpDE8WrAv2&5YZQJ?GJl)jAfF~Z(lN12Co!#6--c`m3ch
-CDtKHrEaq1#;F^!y0Hr?Xm;IG*`0MX<2J>BI`$-W%lSlllT``zYP7^$qse*i97G2Q6!2bt{SNMkt-oZazCnla_W%sd5h2;K9;bLkkQOQP-?G2Qf
9X0MNXNbjU1P~G+Sx1OM=AjDFCJKgtIpsvN&udvM@Y2Elija9UegHD@LQ{DX2kMIq0EW2-6w%!2mbt>I9uvQH>2HpWscU%h6$gTST)ZPXAYI9z9s
2<qJwB83z!DeeuDx?g4EZzyg17)WDL>M(Vrrr$v`%^pmywW0v9o`bd0z@GJ86sQ{2HqBUS2G-$v98E#1l}4zs*HtU`Ije|irySe-|k)03~@AeMBX
UQ=Jy-h%5x+!Jl-r%u}`f;mBUK#9^NkYkpNFJFtHiprrt7cnu%k9z7j#(65ccLvp(6DP|tmhaNamm5;b28sX+FKvEDq>>WB%TOy}G0=-xhej0GJB
1En0~Ki)u1)|)*;_l*97-`+vtzIKPgKw)RPX5K>Znbvxek-Gr%Ro+C%CJ*5UFSXvUv))W@(@d{uIGZ3pY2H)jy!1+z=$B(zG~QX#lw(Y;(6|_+I^
J7$4ELo;D@)&Ihu&b<>k$BjS%g%MWZq#!v5lY&mQP?VJKkl&PS^*{!hTL3#olORpcRzKp<7k*y54F2H-qlE<vNipSl(+}*lUVP*|tznGv0Fa$c6b
3)&6PIh~9Hvc*3SkuF=?WquzAw6gL^~-W_(bV%~euSy$7NjNsd*5Z-;y7sF3z2%@5*Io^LrKf)jvbI-h~N8W+_m~iXdC&17O$KHxs0Om=M-xC{bs
osm!>@q`dl-DUlE8dSu0T8*eYMCl)=iZcM6$DTmuF~7hVBVK&PB#3V9&beNn%<aRv|Rx>hqSn;E8dyH{^CPXNZpHbaNeBUjZGJ2f(&v4cHW(Dt}Q
~A&O~guCf=e<5b2WZY~`nX{NAo-YK+8?qF8T=@ZPWaB1L0>F2f@zO5U?V8vyq+hBH7;>fW^Uo7WG+9vNzcVBWQ677jIQ#-~t@DBic(@n&cPk1lhK
4&J#)Au$dz>b_j>jo!LypM8#2162!+x!%6xDnH6LIwXzpNZ!O{Beo6%JO-?)|K7^b9W(hhDMNI;)85N;Diu7-5$|@t2HwqkK;F>+)i0nMA>Pl);|
cqLKvh}rRo>M7qRK>9#Hhti1K!qG@f{Lw?hC5BklxtOfGmh^h|rPF-`?3~@s=M9k<B>*z24i;B2JjmkK;}`R^HrUi;@`C+P&MSSl->;5&5GVY)Kk
@zuw}<>jc`J%p;u_=HBLGUP!T!tjPO{D&FZ;SR^_R`lKyyKi=wY_9R{kU#Zbh(BAF9|19Pt@9{fGbl&dq@QYfWLn=jIVczsy>kNk+u|s&oSl;>FT
=~bVi0D#SBHsM`X}3%)laRp~65jvM-3v83bU@w+{@(**d$IxsTHV-;+TR563))uFItMLiR^J6oT(&Pg6=Up@``-u6>|~Z!#L0drlHUl~uq0;p14V
Q#2;T`&vi)N2nC-De72giP0Z05P%5=dRliw58w{1Gt%83**Oy3twGvo%?)Vd@a>E9c7bgyP!2|tF^x8ES{($h-g+(CNjWZxsr{(*36zi->JDc>h+
z|b_h2y9tfa^ETK<FQV6o`>v+Y2Pa0=rkQ}vahK2px-WbyaE&fWnYZ`72h%c23q2UaxWa>PTx9dj`xh@-rGcgVBbE%D4us|nh8rMYTrL*Nde$=ox
Ub98Q(zm6&So8=oJ;}c;7|%_-}+qk@s9Y>EA~1kjm`cnC-2JuHQ&!o`W^ok?ZH&E#FH}6s*$oa4E)k!QV{VV`8z97AQ@dxZh1#WMKgjd3%MoM&D3
eK`jjAwWV!{k>685n8e~?qU~J3d*4}BzYQ1bDiE&huHRZtdK<Dx3?x!Lr{7<0c}Dg)Fr26xwBKNDMhXFyVNkwxci&}jJY~=1Kkh{TO5bc)gYy>qu
ABZP&EIXxZI-PU8=)%lP~ULsD`ENJOra59UEg$Y09ZFI{bmycncsH!*9AM@D?=l(o!@!M%zoW`0@Eur?B9CREaf%X%+KJLh2MU7=;*dOz#xoUz2A
XxWm8$ZJG;DHBj18b7GC9=Icc3NjNgOY@R401ze*u&zu$(*uuf-5qS|{Cgx`wL8IGw^oaKya<=>C+uUE15YY_cFa^H|ez0~s8Vor_rmfw`_<k+bZ
)znsJ!{3>HpS+lbXacv{FW;I?Gyc(MS)uXvp5LOwm19HZ2SME6@877-?BDcm2k6=hpWm-dzxml+Hm@)gr{A$!D@ecyn6kg7jNi4vVZ&QfOLkRCB;
U7Ku=W&~joe1)R^PZ^1<&_xT4hX(ci+B!=CAx-mFu5(G~dH|nWE=GbV!OpE#JmuSQ~+zr$?&JMc>EGM^Yo<>{4PYm*2@^{GC)~?Uik3{ol>hs_C8
SYblk|Ip5Dskx=dIsZIfG(%;bK9D>O_3O@;1+27G(T~thRh4r9!72ncvk6}waWJZ$8z~9t)Ot7c~;vxy4dEeF1UW*4ZzHx)yBj4D3%oSEWdZvlNW
Z&S-IIafXMV7P&px@$P?jmjejLpQX5#Qv0gY>4%q8#12e&6cRuOh&Xt~1*r4BzcXWBj5HlxSsBLf`n=6z_v|QlzER3g7+V(1TkH)X3(BL*M^bkO!
qYT4bwJ7X
"""
